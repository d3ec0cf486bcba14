// The request behind a plot: to the public interface where the version declares what it asks for, otherwise
// to the management interface, which takes any field.
import { Copy, platformRequest, publicRequest } from '../../parts/copy.tsx';
import { Popover } from '../../parts/popover.tsx';
import type { Parameters, Place, ShownField } from '../../parts/read-records.tsx';
import { base } from '../../router.ts';
import type { Endpoint } from './endpoint.ts';

type Group = { readonly field: string; readonly period: string | null };

const isDeclared = (endpoint: Endpoint, { field, period }: Group): boolean =>
  endpoint.groups?.some((one) =>
    typeof one === 'string'
      ? period === null && one === field
      : one.field === field && one.periods.some((known) => known === period),
  ) === true;

/** What the version lacks for this request. */
function listUndeclared(endpoint: Endpoint, group: Group, sum: ShownField | undefined): string[] {
  const groups = [group, ...(sum?.currency == null ? [] : [{ field: sum.currency, period: null }])];
  const isSummed =
    sum === undefined ||
    endpoint.aggregates?.some(({ field, functions }) => field === sum.name && functions.includes('sum')) ===
      true;
  return [
    ...groups
      .filter((one) => !isDeclared(endpoint, one))
      .map(({ field, period }) => `the group ${period === null ? field : `${field}.${period}`}`),
    ...(isSummed ? [] : [`the sum of ${sum.name}`]),
  ];
}

export function PlotRequest({
  version,
  endpoint,
  place,
  group,
  sum,
  parameters,
}: {
  version: string;
  endpoint: Endpoint;
  place: Place;
  group: Group;
  sum: ShownField | undefined;
  parameters: Parameters;
}) {
  const lacking = listUndeclared(endpoint, group, sum);
  const query = new URLSearchParams(parameters as [string, string][]);
  return (
    <Popover label="Copy the request">
      {() => (
        <div class="stack">
          <p>
            Put the secret of an <a href={`${base}/keys`}>API key</a>
            {lacking.length > 0 && (
              <>
                {' '}
                with the permission <code>record:read</code>
              </>
            )}{' '}
            in place of <code>YOUR_API_KEY</code>.
          </p>
          {lacking.length > 0 && (
            <p class="note">
              {version} does not declare {lacking.join(' and ')} for callers, so this request goes to the
              management interface. <a href={`${base}/schemas`}>Declare it in the next version</a>
            </p>
          )}
          <Copy
            text={
              lacking.length > 0
                ? platformRequest(`/api-schema/${place.id}/records/${place.resource}/summary?${query}`)
                : publicRequest(`/${version}/${endpoint.name}/summary?${query}`)
            }
          />
        </div>
      )}
    </Popover>
  );
}
