// States of an agent and their transitions. Transitions that are not in this table are invalid.

export const agentStatuses = ['provisioning', 'running', 'stopped', 'restarting', 'failed'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/**
 * `start`, `restart` and `stop`: requested by a caller. `change`: model or version was changed. `ready` and
 * `fail`: the result of a check, or of the next message.
 */
export type AgentEvent = 'start' | 'restart' | 'stop' | 'change' | 'ready' | 'fail';

const transitions: Readonly<Record<AgentStatus, Partial<Record<AgentEvent, AgentStatus>>>> = {
  provisioning: { ready: 'running', fail: 'failed', stop: 'stopped', change: 'provisioning' },
  running: { restart: 'restarting', change: 'restarting', fail: 'failed', stop: 'stopped' },
  restarting: { ready: 'running', fail: 'failed', stop: 'stopped', change: 'restarting' },
  stopped: { start: 'provisioning', restart: 'restarting', change: 'stopped' },
  failed: { start: 'provisioning', restart: 'restarting', change: 'restarting', stop: 'stopped' },
};

/** Undefined when the transition is invalid. */
export const nextState = (status: AgentStatus, event: AgentEvent): AgentStatus | undefined =>
  transitions[status][event];

/** Whether a check is due or running. */
export const isBeingChecked = (status: AgentStatus) => status === 'provisioning' || status === 'restarting';
