// One connection: the steps to set it up, and its state afterwards. The step is in the address; what was
// entered is saved with each step, so that a reload loses nothing.
import '../../styles/connection.css';
import { Unread } from '../../parts/detail.tsx';
import { useGet } from '../../query.ts';
import { query, type ScreenProps } from '../../router.ts';
import { mayConnection } from '../../session.ts';
import { ConnectionState } from './connection-state.tsx';
import { SetUp } from './set-up.tsx';
import { isStep, listAddress, openStep } from './words.ts';

export function ConnectionScreen({ params: { connection: name = '' } }: ScreenProps) {
  const read = useGet('/connections/{connection}', { path: { connection: name } });
  const { data: connection } = read;
  if (connection === undefined)
    return <Unread title={name} read={read} above={[{ to: listAddress, title: 'Connections' }]} />;
  const asked = query.value.get('step');
  const step = isStep(asked) ? asked : openStep(connection);
  if (mayConnection('update', name) && step !== null)
    return <SetUp kind={connection.kind} {...{ step, connection }} />;
  return <ConnectionState connection={connection} />;
}
