import { expect } from 'vitest';
import { eventually, type Gateway } from '../harness.ts';

/** Has a task run as an operator would, and waits until it is done. */
export async function runJob(gw: Gateway, task: string): Promise<void> {
  await gw.sql("select add_job($1, '{}', null, 1)", [task]);
  await jobsDone(gw, task);
}

/** Waits until nothing of a task is queued or running. */
export async function jobsDone(gw: Gateway, task: string): Promise<void> {
  await eventually(async () => {
    const left = await gw.sql('select last_error from graphile_worker.jobs where task_identifier = $1', [
      task,
    ]);
    expect(left, JSON.stringify(left)).toEqual([]);
  });
}
