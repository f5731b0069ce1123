import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorState } from './EmptyState.tsx';
import { SkeletonRows } from './Skeleton.tsx';

/** What a query brings: a skeleton first, then the data, or why there is none. Old data stays while new comes. */
export function Loaded<Data>({
  query,
  skeleton,
  children,
}: {
  query: UseQueryResult<Data, Error>;
  skeleton?: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorState error={query.error} onRetry={() => query.refetch()} />;
  return skeleton ?? <SkeletonRows />;
}
