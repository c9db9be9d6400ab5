/**
 * What the agent's server puts behind the text of a file that is read, where a folder above the file has an
 * `AGENTS.md` or the like: it then tells the model to follow that, though it was told to take nothing from
 * repositories. The lines of a file have numbers before them, so no file can look like this.
 */
const REMINDER = '\n\n<system-reminder>\nInstructions from: ';
/** The same as it stands in JSON, to be looked for before anything is parsed. */
const IN_JSON = Buffer.from(JSON.stringify(REMINDER).slice(1, -1));

/** A request to the model's service without such instructions; the bytes themselves where there are none. */
export function withoutInstructions(body: Buffer): Buffer {
  if (!body.includes(IN_JSON)) return body;
  let request: unknown;
  try {
    request = JSON.parse(body.toString());
  } catch {
    return body; // the service will say what it thinks of it
  }
  const { messages } = request as { messages?: unknown };
  if (!Array.isArray(messages)) return body;
  for (const message of messages as { role?: unknown; content?: unknown }[]) {
    if (message.role !== 'tool') continue;
    if (typeof message.content === 'string') message.content = cut(message.content);
    else if (Array.isArray(message.content)) {
      for (const part of message.content as { text?: unknown }[]) {
        if (typeof part.text === 'string') part.text = cut(part.text);
      }
    }
  }
  return Buffer.from(JSON.stringify(request));
}

/** It is the end of what the tool gave. */
function cut(text: string): string {
  const at = text.indexOf(REMINDER);
  return at < 0 ? text : text.slice(0, at);
}
