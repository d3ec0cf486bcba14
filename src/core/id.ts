// Identifiers: UUIDv7, which sort by creation time.
import { v7 } from 'uuid';

export const createId = (): string => v7();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether the text is a UUID in the lower-case form that this service issues. */
export const isId = (text: string): boolean => uuid.test(text);
