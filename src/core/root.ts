import { fileURLToPath } from 'node:url';

/** The path of a file or folder of the installation. The bundle in dist/service is as deep as this folder. */
export const inRoot = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
