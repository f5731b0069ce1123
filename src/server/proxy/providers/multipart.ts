const MAX_PARTS = 64;
const MAX_PART_HEADER_BYTES = 8 * 1024;
const MAX_FIELD_BYTES = 64 * 1024;
const HEADER_END = Buffer.from('\r\n\r\n');

/** The text fields of a multipart/form-data body, files left out; null when it is none. */
export function multipartFields(
  contentType: string | undefined,
  body: Buffer,
): Record<string, string> | null {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return null;
  const delimiter = Buffer.from(`--${boundary}`);
  const fields: Record<string, string> = Object.create(null) as Record<string, string>;
  let at = body.indexOf(delimiter);
  for (let parts = 0; at >= 0 && parts < MAX_PARTS; parts += 1) {
    const partStart = at + delimiter.length;
    const headerEnd = body.indexOf(HEADER_END, partStart);
    if (headerEnd < 0 || headerEnd - partStart > MAX_PART_HEADER_BYTES) break;
    const valueStart = headerEnd + HEADER_END.length;
    // A delimiter counts at the start of a line only, so one inside a file's bytes does not end it.
    at = body.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), valueStart - 2);
    const valueEnd = at < 0 ? body.length : Math.max(at, valueStart);
    if (at >= 0) at += 2;
    const header = body.toString('utf8', partStart, headerEnd);
    const name = /^content-disposition:.*[;\s]name="?([^";\r\n]*)"?/im.exec(header)?.[1];
    const isFile = /^content-disposition:.*[;\s]filename\*?=/im.test(header);
    if (name === undefined || isFile || valueEnd - valueStart > MAX_FIELD_BYTES) continue;
    fields[name] ??= body.toString('utf8', valueStart, valueEnd);
  }
  return fields;
}

function boundaryOf(contentType: string | undefined): string | null {
  if (contentType === undefined || !/^multipart\/form-data/i.test(contentType)) return null;
  const found = /boundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType);
  return found?.[1] ?? found?.[2] ?? null;
}
