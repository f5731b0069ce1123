import { createParser } from 'eventsource-parser';
import { useEffect, useRef, useState } from 'react';
import { operations } from '../contract/index.ts';
import type { TailEvent } from '../contract/stream.ts';
import { sameOriginFetch } from './api.ts';

export type TailedRequest = Extract<TailEvent, { type: 'request' }>;
export type TailedAlert = Extract<TailEvent, { type: 'alert' }>;
export type Tailed = TailedRequest | TailedAlert;
export type TailState = 'connecting' | 'live' | 'reconnecting' | 'refused';

const MAX_KEPT = 300;
/** Events of a burst are shown together: a screen that is drawn per event cannot be read anyway. */
const SHOW_EVERY_MS = 250;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

interface Listener {
  onEvent: (event: TailEvent) => void;
  onState: (state: TailState) => void;
}

/** Reads the tail until told to stop; a cut connection is taken up again where it ended. */
async function followTail(query: string, signal: AbortSignal, { onEvent, onState }: Listener): Promise<void> {
  let lastEventId: string | null = null;
  let retryMs = FIRST_RETRY_MS;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (lastEventId !== null) headers['last-event-id'] = lastEventId;
      const response = await sameOriginFetch(`${operations.openTail.path}${query}`, { headers, signal });
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        return onState('refused');
      if (!response.ok || !response.body) throw new Error(`answered ${response.status}`);
      onState('live');
      retryMs = FIRST_RETRY_MS;
      const parser = createParser({
        onEvent: ({ id, data }) => {
          if (id) lastEventId = id;
          onEvent(JSON.parse(data) as TailEvent);
        },
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) parser.feed(part.value);
    } catch {
      // Whatever cut it, the answer is the same: come again.
    }
    if (signal.aborted) return;
    onState('reconnecting');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
  }
}

/** The newest events first, at most so many; while paused they are counted and not shown. */
export function useTail(filter: Record<string, string>, paused: boolean) {
  const [shown, setShown] = useState<readonly Tailed[]>([]);
  const [state, setState] = useState<TailState>('connecting');
  const [waiting, setWaiting] = useState(0);
  const inbox = useRef<Tailed[]>([]);
  const search = new URLSearchParams(filter).toString();
  useEffect(() => {
    setShown([]);
    inbox.current = [];
    const stop = new AbortController();
    followTail(search === '' ? '' : `?${search}`, stop.signal, {
      onEvent: (event) => {
        if (event.type !== 'request' && event.type !== 'alert') return;
        inbox.current = [event, ...inbox.current].slice(0, MAX_KEPT);
      },
      onState: setState,
    });
    return () => stop.abort();
  }, [search]);
  useEffect(() => {
    const timer = setInterval(() => {
      setWaiting(paused ? inbox.current.length : 0);
      if (paused || inbox.current.length === 0) return;
      const arrived = inbox.current;
      inbox.current = [];
      setShown((before) => [...arrived, ...before].slice(0, MAX_KEPT));
    }, SHOW_EVERY_MS);
    return () => clearInterval(timer);
  }, [paused]);
  return { shown, state, waiting };
}
