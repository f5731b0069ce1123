import { useState } from 'react';
import { Button } from './Button.tsx';
import { showToast } from './Toast.tsx';

const SAID_MS = 2_000;

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SAID_MS);
    } catch {
      showToast('The browser did not allow copying; select the text and copy it by hand.', 'bad');
    }
  };
  return (
    <Button small onClick={copy}>
      {copied ? 'Copied' : label}
    </Button>
  );
}

/** A secret shown this once. */
export function SecretOnce({ label, value }: { label: string; value: string }) {
  return (
    <div className="flex flex-col gap-2 rounded-lg border border-warn/40 bg-warn-soft p-3">
      <p className="text-[13px] text-warn">{label} It is shown this once and cannot be read again.</p>
      <div className="flex items-center gap-2">
        <code className="min-w-0 flex-1 rounded-md bg-surface px-2 py-1.5 font-mono text-[13px] [overflow-wrap:anywhere]">
          {value}
        </code>
        <CopyButton text={value} />
      </div>
    </div>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative">
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: code that scrolls has to be reachable
        tabIndex={0}
        className="overflow-x-auto rounded-lg border border-line bg-sunken p-4 pr-24 font-mono text-[13px] leading-relaxed"
      >
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <div className="absolute top-2 right-2">
        <CopyButton text={code} />
      </div>
    </div>
  );
}
