// Settings of mail, DNS, agents and payments.
import { z } from 'zod';
import { converted, derived, fixed, inBytes, inMs, setting, variable } from './declare.ts';
import { httpUrl, integer, isServerAddress, origin, refineList, smtpUrl, text } from './values.ts';

export const featureSettings = {
  /** How mail is sent: by SMTP, or to .eml files in `outboxFolder` when `smtpUrl` is null. */
  mail: {
    smtpUrl: converted(
      setting(
        'SMTP_URL',
        smtpUrl.optional(),
        '',
        'The mail server, for example smtps://portal:secret@mail.internal:465. If empty, mails are written as .eml files to DATA_DIR/outbox.',
      ),
      (url) => url ?? null,
    ),
    outboxFolder: derived<string>(),
    from: setting('MAIL_FROM', z.string().min(3).max(320), 'Portal Service <portal@localhost>'),
    /** Larger files are not sent. */
    maxAttachmentBytes: inBytes(
      setting(
        'MAIL_ATTACHMENT_MB',
        integer(1, 50),
        '10',
        'The largest file, in megabytes, that a subscription attaches. Mail servers reject larger messages.',
      ),
    ),
    /** Per organization, in any 24 hours. */
    maxSubscriptionMailsPerDay: setting(
      'SUBSCRIPTION_MAILS_PER_DAY',
      integer(1, 10_000_000),
      '10000',
      'Subscription mails per organization within 24 hours, and with them invitations to its portal. Deliveries beyond that fail with this reason.',
    ),
  },
  /** DNS servers for checking customers' domains, as address or address:port; empty: the system's. */
  dnsServers: setting(
    'DNS_SERVERS',
    refineList(isServerAddress, 'must be IP addresses, optionally with :port, separated by commas'),
    '',
    "DNS servers for verifying domains, for example 9.9.9.9 or 127.0.0.1:5353, separated by commas. Default: the system's.",
  ),
  agentCreditsPerMonth: setting(
    'AGENT_CREDITS_PER_MONTH',
    integer(0, 100_000_000),
    '1000',
    'Agent credits granted to each organization at the start of a month (UTC).',
  ),
  AGENT_MODELS: variable(
    refineList(
      (name) => /^(anthropic|openai-compatible)\/\S{1,200}$/.test(name),
      'must be names such as anthropic/<model> or openai-compatible/<model>, separated by commas',
    ),
    '',
    'Language models for agents: anthropic/<model> or openai-compatible/<model>, separated by commas, the default first.',
    'Leave empty to use the built-in `offline` model, which understands a fixed set of questions: docs/offline-model.md',
  ),
  /** Limits for answering one message to an agent. */
  agents: {
    /** Calls of the model. */
    steps: setting(
      'AGENT_STEPS',
      integer(1, 50),
      '8',
      'Limits per message to an agent: model calls, input and output tokens over all calls (1 credit per started 1,000), tokens of earlier',
      'conversation, bytes of one tool result, seconds.',
    ),
    /** Read and written by the model over all steps. Together they determine the credits of a message. */
    inputTokens: setting('AGENT_INPUT_TOKENS', integer(1, 10_000_000), '60000'),
    outputTokens: setting('AGENT_OUTPUT_TOKENS', integer(1, 1_000_000), '4000'),
    /** Of the conversation's earlier messages, estimated. */
    historyTokens: setting('AGENT_HISTORY_TOKENS', integer(0, 1_000_000), '8000'),
    /** Of one tool call's output. */
    toolOutputBytes: setting('AGENT_TOOL_OUTPUT_BYTES', integer(1_000, 1_000_000), '16384'),
    timeMs: inMs(setting('AGENT_SECONDS', integer(1, 300), '120')),
    /** After this time without renewal another process may take over a message or a check. */
    leaseMs: fixed(15_000),
  },
  ANTHROPIC_API_KEY: variable(
    text.optional(),
    '',
    'The Anthropic API key, and the address of a proxy if requests go through one.',
  ),
  ANTHROPIC_BASE_URL: variable(httpUrl, 'https://api.anthropic.com/v1'),
  OPENAI_COMPATIBLE_URL: variable(
    httpUrl.optional(),
    '',
    "A server with OpenAI's chat completions API, for example http://127.0.0.1:11434/v1, and its key if it needs one.",
  ),
  OPENAI_COMPATIBLE_API_KEY: variable(text.optional()),
  /** The language models of agents in addition to the built-in one, and how to reach their providers. */
  models: derived<{
    /** Each as `<provider>/<model>`; the first one is the default. */
    readonly names: readonly string[];
    readonly anthropic: { readonly apiKey: string; readonly baseUrl: string } | null;
    readonly openAiCompatible: { readonly apiKey: string | null; readonly baseUrl: string } | null;
  }>(),
  /** How the Stripe API is called for organizations that use it. */
  stripe: {
    /** Without a path. */
    apiUrl: setting(
      'STRIPE_API_URL',
      origin,
      'https://api.stripe.com',
      "The address of Stripe's API; https unless it is on this machine. Stripe keys belong to each organization's payment configuration.",
    ),
    /** For one request including its response. */
    timeoutMs: fixed(20_000),
    /** Number of retries of a request that got no response, 409 or 5xx. */
    retries: fixed(1),
  },
  SANDBOX_PAYMENTS: variable(
    z.stringbool().optional(),
    '',
    'Whether organizations may use the built-in payment sandbox. It moves no money, but its payments mark invoices in the ERP as paid.',
    'Default: true, in production false.',
  ),
  /** The built-in payment provider. */
  sandbox: {
    /** Whether checkouts may be paid with it: the ERP's invoices are then paid although no money moves. */
    allowed: derived<boolean>(),
    /** How long its delayed outcomes take. */
    delayMs: fixed(10_000),
    /** Interval of payouts; the windows are counted from the epoch. */
    payoutEveryMs: fixed(86_400_000),
  },
};
