// The states of an agent and what leads from one to another. What is not in this table can't happen.

export const agentStatuses = ['provisioning', 'running', 'stopped', 'restarting', 'failed'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/**
 * `start`, `restart` and `stop` are asked for; `change`: it has another model or version now; `ready` and `fail`: what a check, or the
 * next message, found out.
 */
export type AgentEvent = 'start' | 'restart' | 'stop' | 'change' | 'ready' | 'fail';

const transitions: Readonly<Record<AgentStatus, Partial<Record<AgentEvent, AgentStatus>>>> = {
  provisioning: { ready: 'running', fail: 'failed', stop: 'stopped', change: 'provisioning' },
  running: { restart: 'restarting', change: 'restarting', fail: 'failed', stop: 'stopped' },
  restarting: { ready: 'running', fail: 'failed', stop: 'stopped', change: 'restarting' },
  stopped: { start: 'provisioning', restart: 'restarting', change: 'stopped' },
  failed: { start: 'provisioning', restart: 'restarting', change: 'restarting', stop: 'stopped' },
};

/** Undefined where there is no such way. */
export const nextState = (status: AgentStatus, event: AgentEvent): AgentStatus | undefined => transitions[status][event];

/** Whether a check is due or under way. */
export const isBeingChecked = (status: AgentStatus): boolean => status === 'provisioning' || status === 'restarting';
