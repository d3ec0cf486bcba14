// The texts of a mail with a sign-in code.
import type { CodeMailTexts, Renderer } from '../../../src/portal/renderer-model.ts';
import { formatInstant } from './formats.ts';
import { type MessageKey, type MessageValues, message } from './texts.ts';

export const codeMailTexts: Renderer['codeMailTexts'] = (
  language,
  { company, browser, requestedAt },
): CodeMailTexts => {
  const text = (key: MessageKey, values?: MessageValues): string => message(language, key, values);
  const time = formatInstant(language, requestedAt, { style: 'long', timeZone: 'UTC', zone: true });
  return {
    subject: text('mail.subject', { company }),
    title: text('mail.title'),
    says: text('mail.says'),
    action: text('mail.action'),
    openAddress: text('mail.openAddress'),
    notes: [
      text('mail.validity'),
      browser === null ? text('mail.asked', { time }) : text('mail.askedFrom', { browser, time }),
      text('mail.ignore'),
    ],
  };
};
