// `npm start -w odata-simulator`: a service on ports that stay the same, until it is interrupted.
import { parseArgs } from 'node:util';
import { PROFILE_NAMES, type ProfileName, startODataSimulator } from './simulator.ts';

const usage = `Usage: npm start -w odata-simulator -- [options]
  --profile <name>         ${PROFILE_NAMES.join(', ')}; default ${PROFILE_NAMES[0]}
  --port <port>            of the service; default 8095, 0 for any free one
  --token-port <port>      of the token endpoint; default 8096
  --control-port <port>    of the control interface; default 8097
  --generate <set=count>   records to begin with; may be given several times
  --journal <file>         keeps the records
  --secret <text>          password, client secret or header; default: random`;

const { values } = parseArgs({
  options: {
    profile: { type: 'string', default: PROFILE_NAMES[0] },
    port: { type: 'string', default: '8095' },
    'token-port': { type: 'string', default: '8096' },
    'control-port': { type: 'string', default: '8097' },
    generate: { type: 'string', multiple: true, default: [] },
    journal: { type: 'string' },
    secret: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const profile = PROFILE_NAMES.find((name) => name === values.profile);
if (values.help || profile === undefined) {
  console.log(usage);
} else {
  const { serviceRoot, companyPath, credentials, control } = await startODataSimulator({
    profile: profile satisfies ProfileName,
    port: Number(values.port),
    tokenPort: Number(values['token-port']),
    control: { port: Number(values['control-port']) },
    generate: Object.fromEntries(
      values.generate.map((text) => [text.split('=')[0], Number(text.split('=')[1])]),
    ),
    ...(values.journal !== undefined && { journal: values.journal }),
    ...(values.secret !== undefined && { secret: values.secret }),
  });
  console.log(JSON.stringify({ serviceRoot, companyPath, credentials, control }, null, 2));
}
