import { type AlertMessage, type AlertSeverity, instant, severityWord } from './alert-messages.ts';
import { escapeHtml } from './mail-text.ts';

const ACCENT: Record<AlertSeverity, string> = { info: '#1d4ed8', warning: '#b45309', critical: '#b91c1c' };

export function alertMail(
  to: string,
  message: AlertMessage,
): { to: string; subject: string; text: string; html: string } {
  const word = severityWord(message.severity);
  const when = instant(message.occurredAtMs);
  const width = Math.max(0, ...message.facts.map(({ label }) => label.length));
  return {
    to,
    subject: `[Gateway] ${word}: ${message.title}`,
    text: [
      `${word}: ${message.title}`,
      when,
      '',
      ...message.facts.map(({ label, value }) => `  ${label.padEnd(width)}  ${value}`),
      ...(message.facts.length > 0 ? [''] : []),
      ...(message.note === null ? [] : [message.note, '']),
      'Open in Gateway:',
      message.link,
      '',
    ].join('\n'),
    html: html(message, word, when),
  };
}

function html(message: AlertMessage, word: string, when: string): string {
  const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
  const rows = message.facts.map(
    ({ label, value }) => `<tr>
<td style="padding:8px 16px 8px 0;border-top:1px solid #e3e6eb;font-size:14px;color:#5b6472;vertical-align:top">${escapeHtml(label)}</td>
<td style="padding:8px 0;border-top:1px solid #e3e6eb;font-size:14px;font-weight:600;word-break:break-word">${escapeHtml(value)}</td>
</tr>`,
  );
  const link = escapeHtml(message.link);
  const note =
    message.note === null
      ? ''
      : `<p style="margin:0 0 24px;font-size:14px;line-height:1.6;color:#5b6472">${escapeHtml(message.note)}</p>`;
  return `<!doctype html>
<html lang="en">
<body style="margin:0;padding:32px 16px;background:#f4f5f7;${font};color:#1b1f27">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"
  style="max-width:520px;background:#ffffff;border:1px solid #e3e6eb;border-top:4px solid ${ACCENT[message.severity]};border-radius:12px"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-size:15px;font-weight:600">Gateway</p>
<p style="margin:0 0 8px;font-size:13px;font-weight:600;color:${ACCENT[message.severity]}">${word} · ${when}</p>
<h1 style="margin:0 0 20px;font-size:21px;line-height:1.35">${escapeHtml(message.title)}</h1>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 24px">
${rows.join('\n')}
</table>
${note}
<p style="margin:0 0 24px"><a href="${link}"
  style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1d4ed8;color:#ffffff;font-size:15px;
  font-weight:600;text-decoration:none">Open in Gateway</a></p>
<p style="margin:0;font-size:13px;line-height:1.6;color:#5b6472;word-break:break-all">${link}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}
