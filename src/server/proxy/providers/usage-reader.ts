import type { ServedTerms, Usage } from '../../domain/usage.ts';
import { BodyReader } from '../tap/body-reader.ts';
import { openDecoder } from '../tap/decode.ts';
import { TextSink } from '../tap/text-sink.ts';
import { AnthropicReader } from './anthropic.ts';
import { GeminiReader } from './gemini.ts';
import { OpenaiReader } from './openai.ts';
import type { RequestFacts } from './request-facts.ts';
import type { WireReader } from './wire.ts';

export interface ResponseHead {
  contentType: string | undefined;
  contentEncoding: string | undefined;
  get(name: string): string | undefined;
}

/** What a response says about its own cost. */
export interface Reading {
  /** `provider`: usage was reported, zeros included. `none`: nothing was reported or could be read. */
  source: 'provider' | 'none';
  usage: Usage | null;
  /**
   * False when the output side of `usage` is missing or a placeholder (a stream cut before its last usage):
   * the input buckets then stand as reported and the output is to be estimated from `outputText`.
   */
  outputReported: boolean;
  modelServed: string | null;
  terms: ServedTerms;
  /** The whole document or the stream's last event was seen. */
  complete: boolean;
  /** Text of the output, bounded; empty when the provider reported the output tokens. */
  outputText: string;
  /** An error inside a response that began as a success. */
  streamError: string | null;
  anomalies: string[];
}

export interface UsageReader {
  /** Takes the bytes as they came from the upstream, still packed. Never throws. */
  push(chunk: Buffer): void;
  /** Everything pushed so far has been read; packed bytes take a moment. */
  caughtUp(): boolean;
  /** The event that ends a stream was seen: a client may take the response for complete. */
  streamEnded(): boolean;
  /** Call once, after the last byte or when the exchange was cut. Never rejects. */
  finish(): Promise<Reading>;
}

/** Opens a reader for one response. Refusals, free endpoints and re-reads have no usage to look for. */
export function openUsageReader(
  facts: RequestFacts,
  status: number,
  head: ResponseHead,
  onCaughtUp?: () => void,
): UsageReader {
  const billable = facts.kind === 'inference' || facts.kind === 'unknown';
  if (!billable || status < 200 || status > 299) return blindReader([]);
  const wire = openWire(facts, head);
  const text = new TextSink();
  let textMark = 0;
  const body = new BodyReader(head.contentType, wire.shape, text, (document) => {
    if (!wire.take(document)) text.rewind(textMark);
    if (text.open && wire.outputKnown()) text.close();
    textMark = text.mark();
  });
  const decoder = openDecoder(head.contentEncoding, (bytes) => body.push(bytes), onCaughtUp);
  if (decoder === null) return blindReader(['the content encoding cannot be read']);
  let fault: string | null = null;
  return {
    push(chunk) {
      if (fault !== null) return;
      try {
        decoder.push(chunk);
      } catch {
        // The client's response goes on whatever becomes of the meter.
        fault = 'the response could not be read';
      }
    },
    caughtUp: () => decoder.caughtUp(),
    streamEnded: () => body.doneMarkerSeen || (body.isEventStream && wire.terminal),
    async finish() {
      const stopped = await decoder.finish();
      return concluded(wire, body, text, fault ?? stopped);
    },
  };
}

function openWire(facts: RequestFacts, head: ResponseHead): WireReader {
  switch (facts.wire) {
    case 'openai':
      return new OpenaiReader(facts.endpoint);
    case 'anthropic':
      return new AnthropicReader();
    case 'gemini':
      return new GeminiReader(facts.modelRequested, head.get('x-gemini-service-tier'));
  }
}

function concluded(wire: WireReader, body: BodyReader, text: TextSink, fault: string | null): Reading {
  const whole = body.end();
  const findings = wire.findings();
  // A document that was there to its last brace has said all it will.
  const outputReported = findings.outputReported || (whole && findings.usage !== null);
  return {
    source: findings.usage === null ? 'none' : 'provider',
    usage: findings.usage,
    outputReported,
    modelServed: findings.modelServed,
    terms: findings.terms,
    complete: fault === null && (whole || body.doneMarkerSeen || (body.isEventStream && findings.terminal)),
    outputText: outputReported ? '' : text.read(),
    streamError: findings.streamError,
    anomalies: fault === null ? findings.anomalies : [...findings.anomalies, fault],
  };
}

function blindReader(anomalies: string[]): UsageReader {
  const reading: Reading = {
    source: 'none',
    usage: null,
    outputReported: false,
    modelServed: null,
    terms: { tier: null, region: null },
    complete: anomalies.length === 0,
    outputText: '',
    streamError: null,
    anomalies,
  };
  return {
    push() {},
    caughtUp: () => true,
    streamEnded: () => false,
    finish: () => Promise.resolve(reading),
  };
}
