/** What an audit entry adds to its action, on one line; all of it on hover. */
export function AuditDetails({ details }: { details: Record<string, unknown> }) {
  const entries = Object.entries(details);
  if (entries.length === 0) return <span className="text-faint">–</span>;
  const text = entries
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
  return (
    <span className="block max-w-xs truncate text-muted" title={text}>
      {text}
    </span>
  );
}
