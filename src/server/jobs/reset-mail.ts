import type { Mail } from '../adapters/mailer.ts';
import { escapeHtml } from '../domain/mail-text.ts';

/** The token stands in the text on a line of its own too: a mail program that breaks the link cannot break that. */
export function composeResetMail(to: string, dashboardUrl: string, token: string): Mail {
  const link = `${dashboardUrl}/reset-password?token=${token}`;
  return {
    to,
    subject: 'Reset your Gateway password',
    text: [
      'Someone, we hope you, asked to reset the password of your Gateway account.',
      '',
      'Open this link to choose a new one. It works once, for one hour:',
      '',
      link,
      '',
      'If the link does not open, use this reset token instead:',
      '',
      token,
      '',
      'You did not ask? Then ignore this mail; your password stays as it is.',
      '',
    ].join('\n'),
    html: html(escapeHtml(link), token),
  };
}

function html(link: string, token: string): string {
  const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
  return `<!doctype html>
<html lang="en">
<body style="margin:0;padding:32px 16px;background:#f4f5f7;${font};color:#1b1f27">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"
  style="max-width:480px;background:#ffffff;border:1px solid #e3e6eb;border-radius:12px"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-size:15px;font-weight:600">Gateway</p>
<h1 style="margin:0 0 12px;font-size:22px;line-height:1.3">Reset your password</h1>
<p style="margin:0 0 24px;font-size:15px;line-height:1.6">Someone, we hope you, asked to reset the password of
your Gateway account. The button works once, for one hour.</p>
<p style="margin:0 0 24px"><a href="${link}"
  style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1d4ed8;color:#ffffff;font-size:15px;
  font-weight:600;text-decoration:none">Choose a new password</a></p>
<p style="margin:0 0 8px;font-size:13px;line-height:1.6;color:#5b6472">The button does not work? Open this link:</p>
<p style="margin:0 0 16px;font-size:13px;line-height:1.6;word-break:break-all"><a href="${link}"
  style="color:#1d4ed8">${link}</a></p>
<p style="margin:0 0 8px;font-size:13px;line-height:1.6;color:#5b6472">Or use this reset token:</p>
<p style="margin:0 0 24px;font-size:13px;line-height:1.6;word-break:break-all"><code>
${token}
</code></p>
<p style="margin:0;font-size:13px;line-height:1.6;color:#5b6472">You did not ask? Then ignore this mail; your
password stays as it is.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}
