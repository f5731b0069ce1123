import { describe, expect, it } from 'vitest';
import { type Digest, describeChange, digestWeeks } from './digest.ts';
import { digestMail } from './digest-mail.ts';

const USD = 1_000_000;

describe('the weeks of a digest', () => {
  it.each([
    ['2026-11-16T08:00:00Z', '2026-11-09', '2026-11-15'],
    ['2026-11-16T00:00:00Z', '2026-11-09', '2026-11-15'],
    ['2026-11-22T23:59:59Z', '2026-11-09', '2026-11-15'],
    ['2026-11-15T23:59:59Z', '2026-11-02', '2026-11-08'],
    ['2026-01-01T12:00:00Z', '2025-12-22', '2025-12-28'],
  ])('at %s are that of %s to %s, and the one before', (now, from, to) => {
    const { week, before } = digestWeeks(Date.parse(now));
    expect(week).toEqual({ from, to });
    expect(Date.parse(week.from) - Date.parse(before.from)).toBe(7 * 86_400_000);
    expect(Date.parse(week.from) - Date.parse(before.to)).toBe(86_400_000);
  });
});

describe('a change', () => {
  it.each([
    [120, 100, '20 % more than the week before'],
    [80, 100, '20 % less than the week before'],
    [101.26, 100, '1.3 % more than the week before'],
    [100, 100, 'as the week before'],
    [100.01, 100, 'as the week before'],
    [0, 0, 'as the week before'],
    [5, 0, 'nothing the week before'],
    [0, 5, '100 % less than the week before'],
  ])('from %d after %d reads “%s”', (now, before, text) => {
    expect(describeChange(now * USD, before * USD)).toBe(text);
  });
});

const DIGEST: Digest = {
  tenantName: 'Acme & Sons',
  week: { from: '2026-11-09', to: '2026-11-15' },
  costMicrodollars: 1_234_567_890,
  previousCostMicrodollars: 1_000_000_000,
  requests: 12_345,
  topModels: [
    { name: 'gpt-5', costMicrodollars: 1_000_000_000, requests: 12_000 },
    { name: '<script>alert(1)</script>\nFake: line', costMicrodollars: 234_567_890, requests: 345 },
  ],
  topTeams: [{ name: 'Search', costMicrodollars: 1_234_567_890, requests: 12_345 }],
  budgets: [
    {
      scope: 'team Search',
      period: 'month',
      spendMicrodollars: 899_999_999,
      limitMicrodollars: 1_000_000_000,
    },
  ],
  savings: { totalMicrodollars: 50 * USD, recommendations: ['Use the small model for small prompts.'] },
  alerts: { open: 7, newest: [{ severity: 'critical', title: 'A budget is spent' }] },
};

describe('the mail', () => {
  const mail = digestMail('ann@example.com', DIGEST, 'https://gateway.example');

  it('has the week’s spend and its change in the subject', () => {
    expect(mail.subject).toBe('[Gateway] 9–15 Nov 2026: $1,234.57, 23 % more than the week before');
  });

  it('reads well as plain text', () => {
    expect(mail.text).toBe(`Acme & Sons: your week in Gateway
9–15 Nov 2026

  $1,234.57, 23 % more than the week before (12,345 requests)

Top models
  $1,000.00  gpt-5                                 81 %, 12,000 requests
    $234.57  <script>alert(1)</script> Fake: line  19 %, 345 requests
  https://gateway.example/explore

Top teams
  $1,234.57  Search  100 %, 12,345 requests
  https://gateway.example/explore

Budgets near their limit
  89 %  team Search  $900.00 of $1,000.00 this month
  https://gateway.example/budgets

Savings found: $50.00 in 30 days
  Use the small model for small prompts.
  https://gateway.example/savings

7 open alerts
  critical  A budget is spent
  https://gateway.example/alerts

Open the dashboard:
https://gateway.example

You get this mail every Monday. Turn it off in the settings of your account:
https://gateway.example/settings
`);
  });

  it('says the same in HTML that asks nobody else for anything and runs nothing', () => {
    for (const said of [
      '$1,234.57',
      '23 % more',
      'gpt-5',
      'team Search',
      '7 open alerts',
      'Acme &amp; Sons',
    ]) {
      expect(mail.html).toContain(said);
    }
    expect(mail.html).not.toMatch(/<script|<img|<link|<style|src=|url\(/i);
    expect(mail.html.match(/https?:[^"]*/g)!.every((url) => url.startsWith('https://gateway.example'))).toBe(
      true,
    );
  });

  it('leaves out what there is nothing to say of', () => {
    const quiet = digestMail(
      'ann@example.com',
      {
        ...DIGEST,
        costMicrodollars: 1,
        topTeams: [],
        budgets: [],
        savings: { totalMicrodollars: 0, recommendations: [] },
        alerts: { open: 0, newest: [] },
      },
      'https://gateway.example',
    );
    expect(quiet.text).not.toMatch(/Top teams|Budgets|Savings|open alert/);
    expect(quiet.subject).toContain('less than $0.01');
  });

  it.each([
    [{ from: '2026-09-28', to: '2026-10-04' }, '28 Sep – 4 Oct 2026'],
    [{ from: '2025-12-29', to: '2026-01-04' }, '29 Dec 2025 – 4 Jan 2026'],
  ])('names the week %j as %s', (week, text) => {
    expect(digestMail('a@b.c', { ...DIGEST, week }, '').subject).toContain(text);
  });
});
