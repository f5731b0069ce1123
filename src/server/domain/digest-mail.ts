import { formatUsd } from '../../contract/money.ts';
import { type Digest, type DigestBudget, type DigestShare, describeChange } from './digest.ts';
import { cutText, escapeHtml, plainLine } from './mail-text.ts';

const MAX_NAME_CHARACTERS = 60;
const MAX_SENTENCE_CHARACTERS = 240;
const MUTED = 'color:#5b6472';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** One row of a list in the mail: what it is about, its figure, and what else there is to say of it. */
interface Line {
  name: string;
  figure: string;
  aside: string;
}
/** A heading and what stands under it. Both forms of the mail are made from the same. */
interface Section {
  title: string;
  lines: readonly Line[];
  link: string;
}

export function digestMail(
  to: string,
  digest: Digest,
  dashboardUrl: string,
): { to: string; subject: string; text: string; html: string } {
  const spend = usd(digest.costMicrodollars);
  const week = describeWeek(digest);
  const change = describeChange(digest.costMicrodollars, digest.previousCostMicrodollars);
  const sections = sectionsOf(digest, dashboardUrl);
  const requests = countRequests(digest.requests);
  return {
    to,
    subject: `[Gateway] ${week}: ${spend}, ${change}`,
    text: text({ name: plainLine(digest.tenantName), week, spend, change, requests, sections, dashboardUrl }),
    html: html({ name: plainLine(digest.tenantName), week, spend, change, requests, sections, dashboardUrl }),
  };
}

function sectionsOf(digest: Digest, dashboardUrl: string): Section[] {
  const { savings, alerts } = digest;
  const sections: Section[] = [
    { title: 'Top models', lines: digest.topModels.map((row) => shareLine(row, digest)), link: '/explore' },
    { title: 'Top teams', lines: digest.topTeams.map((row) => shareLine(row, digest)), link: '/explore' },
    { title: 'Budgets near their limit', lines: digest.budgets.map(budgetLine), link: '/budgets' },
    {
      title: `Savings found: ${usd(savings.totalMicrodollars)} in 30 days`,
      lines: savings.recommendations.map(sentenceLine),
      link: '/savings',
    },
    {
      title: alerts.open === 1 ? '1 open alert' : `${alerts.open} open alerts`,
      lines: alerts.newest.map(({ severity, title }) => ({ ...sentenceLine(title), figure: severity })),
      link: '/alerts',
    },
  ];
  return sections
    .filter(({ lines }) => lines.length > 0)
    .map((section) => ({ ...section, link: `${dashboardUrl}${section.link}` }));
}

function shareLine(share: DigestShare, digest: Digest): Line {
  const percent =
    digest.costMicrodollars === 0 ? 0 : (share.costMicrodollars / digest.costMicrodollars) * 100;
  return {
    name: cutText(plainLine(share.name), MAX_NAME_CHARACTERS),
    figure: usd(share.costMicrodollars),
    aside: `${Math.round(percent)} %, ${countRequests(share.requests)}`,
  };
}

function budgetLine(budget: DigestBudget): Line {
  const percent = Math.floor((budget.spendMicrodollars / budget.limitMicrodollars) * 100);
  return {
    name: cutText(plainLine(budget.scope), MAX_NAME_CHARACTERS),
    figure: `${percent} %`,
    aside: `${usd(budget.spendMicrodollars)} of ${usd(budget.limitMicrodollars)} this ${budget.period}`,
  };
}

function sentenceLine(sentence: string): Line {
  return { name: cutText(plainLine(sentence), MAX_SENTENCE_CHARACTERS), figure: '', aside: '' };
}

interface Composed {
  name: string;
  week: string;
  spend: string;
  change: string;
  requests: string;
  sections: readonly Section[];
  dashboardUrl: string;
}

function text({ name, week, spend, change, requests, sections, dashboardUrl }: Composed): string {
  return [
    `${name}: your week in Gateway`,
    week,
    '',
    `  ${spend}, ${change} (${requests})`,
    '',
    ...sections.flatMap((section) => [section.title, ...textLines(section.lines), `  ${section.link}`, '']),
    'Open the dashboard:',
    dashboardUrl,
    '',
    'You get this mail every Monday. Turn it off in the settings of your account:',
    `${dashboardUrl}/settings`,
    '',
  ].join('\n');
}

function textLines(lines: readonly Line[]): string[] {
  const nameWidth = Math.max(...lines.map(({ name }) => name.length));
  const figureWidth = Math.max(...lines.map(({ figure }) => figure.length));
  return lines.map(({ name, figure, aside }) =>
    `  ${figureWidth > 0 ? `${figure.padStart(figureWidth)}  ` : ''}${aside ? name.padEnd(nameWidth) : name}  ${aside}`.trimEnd(),
  );
}

function html({ name, week, spend, change, requests, sections, dashboardUrl }: Composed): string {
  const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
  const link = escapeHtml(dashboardUrl);
  return `<!doctype html>
<html lang="en">
<body style="margin:0;padding:32px 16px;background:#f4f5f7;${font};color:#1b1f27">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"
  style="max-width:560px;background:#ffffff;border:1px solid #e3e6eb;border-radius:12px"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-size:15px;font-weight:600">Gateway</p>
<p style="margin:0 0 4px;font-size:13px;${MUTED}">${escapeHtml(name)} · ${week}</p>
<h1 style="margin:0 0 4px;font-size:32px;line-height:1.2">${spend}</h1>
<p style="margin:0 0 28px;font-size:15px;line-height:1.5">${change} · ${requests}</p>
${sections.map(sectionHtml).join('\n')}
<p style="margin:8px 0 24px"><a href="${link}"
  style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1d4ed8;color:#ffffff;font-size:15px;
  font-weight:600;text-decoration:none">Open the dashboard</a></p>
<p style="margin:0;font-size:13px;line-height:1.6;${MUTED}">You get this mail every Monday. Turn it off in
<a href="${link}/settings" style="color:#1d4ed8">the settings of your account</a>.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function sectionHtml({ title, lines, link }: Section): string {
  const cell = 'padding:8px 0;border-top:1px solid #e3e6eb;font-size:14px;vertical-align:top';
  const rows = lines.map(
    ({ name, figure, aside }) => `<tr>
<td style="${cell};padding-right:16px;word-break:break-word">${escapeHtml(name)}${aside ? `<br><span style="font-size:13px;${MUTED}">${escapeHtml(aside)}</span>` : ''}</td>
<td align="right" style="${cell};font-weight:600;white-space:nowrap">${escapeHtml(figure)}</td>
</tr>`,
  );
  return `<h2 style="margin:0 0 8px;font-size:16px;line-height:1.4"><a href="${escapeHtml(link)}"
  style="color:#1b1f27;text-decoration:none">${escapeHtml(title)}</a></h2>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 28px">
${rows.join('\n')}
</table>`;
}

function countRequests(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'request' : 'requests'}`;
}

/** “9–15 Nov 2026”, “28 Sep – 4 Oct 2026”. */
function describeWeek({ week }: Digest): string {
  const [from, to] = [new Date(`${week.from}T00:00:00Z`), new Date(`${week.to}T00:00:00Z`)];
  const end = `${to.getUTCDate()} ${MONTHS[to.getUTCMonth()]} ${to.getUTCFullYear()}`;
  if (from.getUTCMonth() === to.getUTCMonth()) return `${from.getUTCDate()}–${end}`;
  const year = from.getUTCFullYear() === to.getUTCFullYear() ? '' : ` ${from.getUTCFullYear()}`;
  return `${from.getUTCDate()} ${MONTHS[from.getUTCMonth()]}${year} – ${end}`;
}

/** To the cent, as people read money; what is less than one is not shown as nothing. */
function usd(microdollars: number): string {
  if (microdollars > 0 && microdollars < 10_000) return 'less than $0.01';
  const cents = formatUsd(Math.round(microdollars / 10_000) * 10_000).slice(0, -4);
  const [whole = '0', fraction = '00'] = cents.split('.');
  return `$${whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')}.${fraction}`;
}
