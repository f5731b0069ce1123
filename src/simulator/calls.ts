import type { Provider } from '../contract/providers.ts';
import type { Bill } from './reply.ts';
import { addUsage, NO_USAGE, type SimUsage, usageUntil } from './usage.ts';

/** Older calls are forgotten; the billed totals are not. */
const DEFAULT_MAX_CALLS = 20_000;

export interface RecordedCall {
  /** Null for a request outside every provider's base path. */
  provider: Provider | null;
  method: string;
  /** The request target byte for byte, after the provider's base path. */
  rawPath: string;
  /** The request target byte for byte, as it came. */
  rawTarget: string;
  rawHeaders: string[];
  bodySha256: string;
  bodyBytes: number;
  /** The first bytes of the body. */
  body: Buffer;
  /** 0 until a status line is sent. */
  status: number;
  requestedModel: string | null;
  servedModel: string | null;
  usageBilled: SimUsage | null;
  startedAt: Date;
  endedBy: 'open' | 'complete' | 'client_abort' | 'fault';
}

export interface BilledTotal {
  provider: Provider;
  requestedModel: string;
  servedModel: string;
  calls: number;
  usage: SimUsage;
}

interface Waiter {
  isMet: () => boolean;
  resolve: () => void;
}

export class CallLog {
  readonly #maxCalls: number;
  #calls: RecordedCall[] = [];
  #arrivedCount = 0;
  /** Calls of the current run only: one that outlives a clear is not billed into the next run. */
  readonly #open = new Set<RecordedCall>();
  readonly #totals = new Map<string, BilledTotal>();
  #waiters: Waiter[] = [];

  constructor(maxCalls = DEFAULT_MAX_CALLS) {
    this.#maxCalls = maxCalls;
  }

  /** The request has come in whole. */
  arrive(call: RecordedCall): void {
    this.#calls.push(call);
    // Trimmed at twice the bound, so that the cost of moving the array is spread over many calls.
    if (this.#calls.length > this.#maxCalls * 2) this.#calls = this.#calls.slice(-this.#maxCalls);
    this.#arrivedCount += 1;
    this.#open.add(call);
    this.#wake();
  }

  /** The call is over; a stream cut short is billed for the output that existed by then. */
  settle(
    call: RecordedCall,
    endedBy: 'complete' | 'client_abort' | 'fault',
    bill: Bill | null,
    outputTokens: number,
  ): void {
    if (call.endedBy !== 'open') return;
    call.endedBy = endedBy;
    if (!this.#open.delete(call)) return;
    if (bill !== null) this.#bill(call, bill, usageUntil(bill.usage, outputTokens));
    this.#wake();
  }

  #bill(call: RecordedCall, bill: Bill, usage: SimUsage): void {
    call.usageBilled = usage;
    if (call.provider === null) return;
    const key = `${call.provider}\n${bill.requestedModel}\n${bill.servedModel}`;
    let total = this.#totals.get(key);
    if (total === undefined) {
      const { requestedModel, servedModel } = bill;
      total = { provider: call.provider, requestedModel, servedModel, calls: 0, usage: { ...NO_USAGE } };
      this.#totals.set(key, total);
    }
    total.calls += 1;
    addUsage(total.usage, usage);
  }

  calls(): RecordedCall[] {
    return this.#calls.slice(-this.#maxCalls);
  }

  billed(): BilledTotal[] {
    return [...this.#totals.values()].map((total) => ({ ...total, usage: { ...total.usage } }));
  }

  /** Resolves once so many requests have come in since the last clear. */
  arrived(count: number): Promise<void> {
    return this.#until(() => this.#arrivedCount >= count);
  }

  /** Resolves once no call is open. */
  settled(): Promise<void> {
    return this.#until(() => this.#open.size === 0);
  }

  clear(): void {
    this.#open.clear();
    this.#calls = [];
    this.#arrivedCount = 0;
    this.#totals.clear();
    this.#wake();
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ isMet, resolve });
    });
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const met = this.#waiters.filter((waiter) => waiter.isMet());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const waiter of met) waiter.resolve();
  }
}
