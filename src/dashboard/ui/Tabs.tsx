import { useUrlState } from '../url-state.ts';

/** Views of one page; which one is in the address under `name`. */
export function Tabs<Name extends string>({
  label,
  name = 'tab',
  tabs,
  current,
}: {
  label: string;
  name?: string;
  tabs: ReadonlyArray<{ id: Name; label: string; count?: number }>;
  current: Name;
}) {
  const [, set] = useUrlState();
  return (
    <nav aria-label={label} className="-mb-px flex gap-1 overflow-x-auto border-b border-line">
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          aria-current={tab.id === current ? 'page' : undefined}
          onClick={() => set({ [name]: tab.id === tabs[0]!.id ? undefined : tab.id, page: undefined })}
          className={`border-b-2 px-3 py-2 whitespace-nowrap ${
            tab.id === current
              ? 'border-accent font-medium text-ink'
              : 'border-transparent text-muted hover:text-ink'
          }`}
        >
          {tab.label}
          {tab.count !== undefined && tab.count > 0 && (
            <span className="ml-1.5 rounded-full bg-sunken px-1.5 text-[12px] tabular-nums">{tab.count}</span>
          )}
        </button>
      ))}
    </nav>
  );
}
