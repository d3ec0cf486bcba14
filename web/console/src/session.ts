// Who is signed in, in which organization, and what they may do there.
import { computed, signal } from '@preact/signals';
import { type Answer, ApiError, api } from './api.ts';
import { invalidate } from './query.ts';
import { sessionEnded, shownOrganization } from './service-state.ts';

type SessionState = {
  /** Whether an identity provider is configured. */
  readonly signIn: boolean;
  readonly session: null | {
    readonly user: { readonly id: string; readonly email: string; readonly name: string | null };
    readonly organization: { readonly id: string; readonly name: string } | null;
  };
};

export const sessionState = signal<SessionState | null>(null);
export const identity = signal<Answer<'/whoami'> | null>(null);

const granted = computed(() => new Set<string>(identity.value?.permissions ?? []));

/**
 * Whether the person has one of the permissions in this organization, if there are any. Screens hide what they
 * may not do; the service refuses it anyway.
 */
export const may = (...permissions: readonly string[]): boolean =>
  permissions.length === 0 || permissions.some((one) => granted.value.has(one));

type ConnectionAction = 'read' | 'create' | 'update' | 'delete';
/** The same of a connection: for the one called `netsuite` a permission of its own suffices. */
export const mayConnection = (action: ConnectionAction, name = 'netsuite'): boolean =>
  may(`connection:${action}`, ...(name === 'netsuite' ? [`netsuite:${action}`] : []));

/** The organization in which the person works; empty before it is known. */
export const organizationId = (): string => shownOrganization.value;

async function fetchSession(): Promise<SessionState> {
  const response = await fetch('/auth/session');
  if (!response.ok) throw new ApiError(response.status, { message: 'The session could not be read.' });
  return response.json();
}

/** Reads who is signed in. Rejects with an ApiError. */
export async function readSession(): Promise<void> {
  const state = await fetchSession();
  if (state.session?.organization) {
    identity.value = (await api.GET('/whoami')).data ?? null;
    shownOrganization.value = identity.value?.organization?.id ?? '';
  }
  sessionState.value = state;
}

/**
 * Compares the session with the one that this page shows. Loads the page again for another person or
 * organization. Never rejects.
 */
export async function checkSession(): Promise<void> {
  const [shown, now] = [sessionState.peek()?.session, await fetchSession().catch(() => null)];
  if (now === null || !shown) return;
  if (now.session === null) {
    sessionEnded.value = true;
    return;
  }
  if (now.session.user.id !== shown.user.id || now.session.organization?.id !== shown.organization?.id)
    return location.reload();
  if (!sessionEnded.peek()) return;
  sessionEnded.value = false;
  await invalidate('');
}

/** Ends the session, here and at the identity provider. */
export async function signOut(): Promise<void> {
  const response = await fetch('/auth/logout', { method: 'POST' });
  location.assign(response.headers.get('location') ?? '/');
}

/**
 * Works in another of the person's organizations from now on, beginning at the address `to`. Rejects with an
 * ApiError.
 */
export async function chooseOrganization(organizationId: string, to = '/console'): Promise<void> {
  await api.POST('/whoami/active-organization', { body: { organizationId } });
  location.assign(to);
}
