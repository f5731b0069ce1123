import {
  QueryClient,
  type UseQueryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type CallInput, type CsvOperationName, openClient, type Refused } from '../client/client.ts';
import { type OperationName, operations } from '../contract/index.ts';
import type { ResponseOf } from '../contract/operation.ts';
import { showToast } from './ui/Toast.tsx';

type Operations = typeof operations;
export type Input<Name extends OperationName> = CallInput<Operations[Name]>;
export type Output<Name extends OperationName> = ResponseOf<Operations[Name]>;
/** One row of what an operation lists, paged or not. */
export type RowOf<Name extends OperationName> =
  Output<Name> extends ReadonlyArray<infer Row>
    ? Row
    : Output<Name> extends { data: ReadonlyArray<infer Row> }
      ? Row
      : never;

const FRESH_MS = 10_000;
const MAX_RETRIES = 2;

/** The server said no; thrown so that queries and actions carry it to where it is shown. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.message);
    this.refused = refused;
  }
}

export function isRefusedWith(error: unknown, status: number): boolean {
  return error instanceof RefusedCall && error.refused.status === status;
}

/** The session travels in a cookie no script can read; this header is what a page of another site cannot send. */
export const sameOriginFetch: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('x-gateway-dashboard', '1');
  return fetch(input, { ...init, headers, credentials: 'same-origin' });
};

const client = openClient({ baseUrl: location.origin, fetch: sameOriginFetch });

export async function ask<Name extends OperationName>(
  name: Name,
  input?: Input<Name>,
): Promise<Output<Name>> {
  const result = await client.call(name, ...([input] as never)).catch(sayAway);
  if (!result.ok) throw new RefusedCall(result);
  return result.data as Output<Name>;
}

/** A browser says no more than that it failed to fetch, each in words of its own. */
function sayAway(fault: Error): never {
  if (!(fault.cause instanceof TypeError)) throw fault;
  throw new Error('The gateway does not answer. It may be restarting, or out of reach of this browser.');
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // A refusal stays one however often it is asked for; only faults are worth another try.
      retry: (count, error) => !(error instanceof RefusedCall) && count < MAX_RETRIES,
    },
  },
});

type QueryExtras<Name extends OperationName> = Omit<
  UseQueryOptions<Output<Name>, Error>,
  'queryKey' | 'queryFn'
>;

export function apiQuery<Name extends OperationName>(name: Name, input?: Input<Name>) {
  return {
    queryKey: [name, input ?? {}] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => ask(name, { ...input, signal } as Input<Name>),
  };
}

export function useApi<Name extends OperationName>(
  name: Name,
  input?: Input<Name>,
  extras?: QueryExtras<Name>,
) {
  return useQuery<Output<Name>, Error>({ ...apiQuery(name, input), ...extras });
}

interface ActionOptions<Name extends OperationName> {
  /** What shows something else once this is done. */
  refreshes: readonly OperationName[];
  /** Said when it is done. */
  done?: string | ((output: Output<Name>) => string);
}

/** A change: done once, told in a toast, and everything that shows its outcome asked for again. */
export function useAction<Name extends OperationName>(name: Name, options: ActionOptions<Name>) {
  const queries = useQueryClient();
  return useMutation<Output<Name>, Error, Input<Name>>({
    mutationFn: (input) => ask(name, input),
    onSuccess: async (output) => {
      const { done } = options;
      if (done !== undefined) showToast(typeof done === 'function' ? done(output) : done);
      await Promise.all(
        options.refreshes.map((queryName) => queries.invalidateQueries({ queryKey: [queryName] })),
      );
    },
    onError: (error) => showToast(error.message, 'bad'),
  });
}

/** The one call whose body is a form with a file, which the table-driven client does not send. */
export async function uploadInvoice(invoice: {
  file: File;
  provider: string;
  invoice_month: string;
}): Promise<Output<'uploadInvoice'>> {
  const body = new FormData();
  body.set('provider', invoice.provider);
  body.set('invoice_month', invoice.invoice_month);
  body.set('file', invoice.file, invoice.file.name);
  const { method, path } = operations.uploadInvoice;
  const response = await sameOriginFetch(path, { method, body });
  const answer = await response.json();
  if (response.ok) return answer as Output<'uploadInvoice'>;
  const requestId = response.headers.get('x-gateway-request-id');
  throw new RefusedCall({
    ok: false,
    status: response.status,
    body: answer,
    retryAfterSeconds: null,
    requestId,
    ...answer,
  });
}

/** Saves what the server sends under the name it gives. */
export async function downloadCsv<Name extends CsvOperationName>(
  name: Name,
  input?: Input<Name>,
): Promise<void> {
  const result = await client.callCsv(name, ...([input] as never));
  if (!result.ok) throw new RefusedCall(result);
  const address = URL.createObjectURL(await new Response(result.bytes).blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = result.filename;
  link.click();
  URL.revokeObjectURL(address);
}
