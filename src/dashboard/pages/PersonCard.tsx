import { type Output, useApi } from '../api.ts';
import { TimeChart } from '../charts/TimeChart.tsx';
import { formatCount, formatMoney } from '../numbers.ts';
import type { DayRange } from '../time.ts';
import { Button } from '../ui/Button.tsx';
import { Card } from '../ui/Card.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Money } from '../ui/Money.tsx';
import { Table } from '../ui/Table.tsx';
import { useUrlState } from '../url-state.ts';

type Person = Output<'getUsageOfUser'> | Output<'getUsageOfEndCustomer'>;

/** What one user or end customer spent, by day and by model. */
export function PersonCard({
  group,
  name,
  range,
}: {
  group: 'user' | 'customer';
  name: string;
  range: DayRange;
}) {
  const [, set] = useUrlState();
  const query = { from: range.from, to: range.to };
  const user = useApi('getUsageOfUser', { params: { user: name }, query }, { enabled: group === 'user' });
  const customer = useApi(
    'getUsageOfEndCustomer',
    { params: { customer: name }, query },
    { enabled: group === 'customer' },
  );
  const close = (
    <Button small look="quiet" onClick={() => set({ person: undefined })}>
      Close
    </Button>
  );
  return (
    <Card title={`${group === 'user' ? 'User' : 'End customer'} ${name}`} actions={close}>
      {group === 'user' ? (
        <Loaded query={user}>{(person) => <Detail person={person} name={name} />}</Loaded>
      ) : (
        <Loaded query={customer}>{(person) => <Detail person={person} name={name} />}</Loaded>
      )}
    </Card>
  );
}

function Detail({ person, name }: { person: Person; name: string }) {
  return (
    <div className="grid lg:grid-cols-[3fr_2fr]">
      <TimeChart
        bars
        bucket="day"
        label={`Spend of ${name} per day: ${formatMoney(person.cost_microdollars)} in all`}
        times={person.timeseries.map((row) => Date.parse(row.bucket) / 1000)}
        series={[
          {
            label: 'spend',
            colour: '--series-1',
            values: person.timeseries.map((row) => row.cost_microdollars),
          },
        ]}
        format={formatMoney}
      />
      <Table
        label={`Models used by ${name}`}
        rows={person.by_model}
        rowKey={(row) => row.model_id}
        columns={[
          { head: 'Model', cell: (row) => row.model_id },
          { head: 'Requests', numeric: true, cell: (row) => formatCount(row.requests) },
          { head: 'Spend', numeric: true, cell: (row) => <Money microdollars={row.cost_microdollars} /> },
        ]}
      />
    </div>
  );
}
