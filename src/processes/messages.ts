// What the parent and its children say to each other. Everything in a message survives JSON: no Infinity, no
// undefined.
import type { MetricObject } from 'prom-client';
import type { TlsAnswer } from '../operate/tls-allowed.ts';

/** How a child starts; in its arguments, so that a list of processes shows it. */
export type Role = {
  /** From 1; a replacement has the number of the child that it replaces. */
  readonly number: number;
  readonly of: number;
  /** It syncs, and does all other background work. */
  readonly syncs: boolean;
  /** It prints the link with which the owner signs in. */
  readonly printsLink: boolean;
};

/** A limit that the parent counts for all children; null is no limit. */
export type Limits = { readonly maxRunning: number | null; readonly maxRunningPerOwner: number | null };
export type Acquire = {
  readonly kind: 'acquire';
  readonly id: number;
  readonly name: string;
  readonly limits: Limits;
  readonly owner: string;
  /** Whether to wait for a permit. */
  readonly waits: boolean;
};

export type Answers = { readonly metrics: readonly MetricObject[]; readonly tls: TlsAnswer };
export type Question =
  | { readonly ask: 'metrics' }
  | { readonly ask: 'tls'; readonly domains: readonly string[] };

export type ToChild =
  | { readonly kind: 'stop'; readonly replaced: boolean }
  | ({ readonly kind: 'question'; readonly id: number } & Question)
  | { readonly kind: 'acquired'; readonly id: number; readonly isGranted: boolean };

export type ToParent =
  /** It takes messages. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'serving'; readonly url: string }
  | Acquire
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'answer'; readonly id: number; readonly value: Answers[keyof Answers] | null }
  /** Its metrics when it has stopped. */
  | { readonly kind: 'last-metrics'; readonly metrics: readonly MetricObject[] };
