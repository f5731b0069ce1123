/** Which values of a JSON document are wanted, compiled into a tree the skimmer walks beside the bytes. */
export interface SkimNode {
  /** The path under which a value standing here is recorded; null when it is not. */
  readonly path: string | null;
  /** The path leads through an array, so its values are recorded as a list. */
  readonly repeated: boolean;
  /** A string standing here is output text. */
  readonly text: boolean;
  readonly items: SkimNode | null;
  /** Members worth entering, by the byte length of their key: most keys are ruled out by length alone. */
  readonly members: readonly (readonly SkimMember[] | undefined)[];
}

export interface SkimMember {
  readonly key: Buffer;
  readonly node: SkimNode;
}

interface Draft {
  path: string | null;
  repeated: boolean;
  text: boolean;
  items: Draft | null;
  members: Map<string, Draft>;
}

/**
 * Compiles paths such as `usage`, `response.usage` and `output[].type`. `values` are captured and parsed;
 * strings at `texts` go to the text sink. A captured value is taken whole, so no path may lead through one.
 */
export function compileShape(values: readonly string[], texts: readonly string[]): SkimNode {
  const root = newDraft();
  for (const path of values) {
    const draft = draftAt(root, path);
    draft.path = path;
    draft.repeated = path.includes('[]');
  }
  for (const path of texts) draftAt(root, path).text = true;
  return seal(root);
}

function newDraft(): Draft {
  return { path: null, repeated: false, text: false, items: null, members: new Map() };
}

function draftAt(root: Draft, path: string): Draft {
  let draft = root;
  for (const step of path.split('.')) {
    const key = step.replaceAll('[]', '');
    let next = draft.members.get(key);
    if (next === undefined) {
      next = newDraft();
      draft.members.set(key, next);
    }
    draft = next;
    for (let left = (step.length - key.length) / 2; left > 0; left -= 1) {
      draft.items ??= newDraft();
      draft = draft.items;
    }
  }
  return draft;
}

function seal(draft: Draft): SkimNode {
  if (draft.path !== null && (draft.items !== null || draft.members.size > 0)) {
    throw new Error(`a path leads through the captured value ${draft.path}`);
  }
  const members: SkimMember[][] = [];
  for (const [name, child] of draft.members) {
    const key = Buffer.from(name);
    const sameLength = members[key.length] ?? [];
    sameLength.push({ key, node: seal(child) });
    members[key.length] = sameLength;
  }
  return {
    path: draft.path,
    repeated: draft.repeated,
    text: draft.text,
    items: draft.items === null ? null : seal(draft.items),
    members: Array.from(members),
  };
}

export function findMember(node: SkimNode, bytes: Buffer, start: number, end: number): SkimNode | null {
  const candidates = node.members[end - start];
  if (candidates === undefined) return null;
  for (const candidate of candidates) {
    const { key } = candidate;
    let at = key.length - 1;
    while (at >= 0 && key[at] === bytes[start + at]) at -= 1;
    if (at < 0) return candidate.node;
  }
  return null;
}
