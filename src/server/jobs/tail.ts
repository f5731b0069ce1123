import { appendEventToTail } from '../store/tail.ts';
import type { JobParts, Task } from './task.ts';

/** The delivery of an event, with the live tail as one more place that it goes to. */
export function withTail(parts: JobParts, deliver: Task): Task {
  return async (payload) => {
    const { tenant_id: tenantId, event_id: eventId } = payload as { tenant_id: string; event_id: string };
    await parts.database.asTenant(tenantId, (db) => appendEventToTail(db, tenantId, eventId));
    await deliver(payload);
  };
}
