import { AuditDetails } from '../ui/AuditDetails.tsx';
import { Card } from '../ui/Card.tsx';
import { EmptyState } from '../ui/EmptyState.tsx';
import { FilterText } from '../ui/Filter.tsx';
import { Loaded } from '../ui/Loaded.tsx';
import { Pager } from '../ui/Pager.tsx';
import { Table } from '../ui/Table.tsx';
import { Time } from '../ui/Time.tsx';
import { usePaging, useUrlState } from '../url-state.ts';
import { useOperator } from './client.tsx';

/** What operators did to the platform; what they did to a tenant stands in its own log. */
export function OperatorAudit() {
  const [{ action }] = useUrlState();
  const { limit, offset } = usePaging();
  const entries = useOperator('listOperatorAudit', { query: { ...(action && { action }), limit, offset } });
  return (
    <Card title="What operators did" actions={<FilterText label="Action" name="action" className="w-48" />}>
      <Loaded query={entries}>
        {(data) => (
          <>
            <Table
              label="Operator audit"
              rows={data.data}
              rowKey={(row) => row.id}
              empty={
                <EmptyState title="Nothing yet">Changes of models, prices and jobs are told here.</EmptyState>
              }
              columns={[
                { head: 'Time', cell: (row) => <Time at={row.created_at} shape="second" /> },
                { head: 'Action', cell: (row) => <code className="font-mono">{row.action}</code> },
                { head: 'From', from: 'md', cell: (row) => row.ip_address ?? '–' },
                {
                  head: 'Details',
                  from: 'sm',
                  cell: (row) => <AuditDetails details={row.details} />,
                },
              ]}
            />
            <Pager {...data} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
