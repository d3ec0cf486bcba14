// Identifiers: UUIDv7, which sort by creation time. Derived ones are UUIDv5.
import { v5, v7 } from 'uuid';

export const createId = (): string => v7();

/** The same id each time for the same name; `namespace` is an id. */
export const deriveId = (namespace: string, name: string): string => v5(name, namespace);

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether the text is a UUID in the lower-case form that this service issues. */
export const isId = (text: string): boolean => uuid.test(text);
