import type { AssistantMessage, Message, Part } from '@opencode-ai/sdk/v2/client';
import type { TurnEnd } from '../engine.ts';

export interface MessageWithParts {
  readonly info: Message;
  readonly parts: readonly Part[];
}

type Failed = Extract<TurnEnd, { type: 'failed' }>;
type MessageError = NonNullable<AssistantMessage['error']>;

const MOST_WHY = 400;
/** How the runner's proxy begins what it says itself, in place of the service. */
const OF_THE_PROXY = "the model's service ";

export function failed(reason: Failed['reason'], why: string): Failed {
  return { type: 'failed', reason, why: why.replaceAll(/\s+/g, ' ').trim().slice(0, MOST_WHY) };
}

/**
 * What a turn came to, by the last message of the model in it; null: there was none. A turn that was
 * ended from here is not asked about here, since an abort leaves no trace in some of its moments.
 */
export function turnEnd(last: MessageWithParts | null, wantsObject: boolean): TurnEnd {
  if (last?.info.role !== 'assistant') return failed('server', 'the turn ended before the model was asked');
  const { error, finish, structured } = last.info;
  if (error) return ofError(error);
  if (!finish) return failed('server', "the turn's last answer was left open");
  if (wantsObject) {
    return isObject(structured)
      ? { type: 'said', text: textOf(last), structured }
      : failed('no-answer', 'the model gave no object of the form that was asked for');
  }
  const text = textOf(last);
  if (text === '') return failed('no-answer', `the model ended without a word (${finish})`);
  return { type: 'said', text, structured: null };
}

/** Whether nothing follows such a message in its turn. */
export function isComplete(last: MessageWithParts | null): boolean {
  if (last?.info.role !== 'assistant') return false;
  const { error, finish, structured, time } = last.info;
  if (error) return true;
  return time.completed !== undefined && (structured !== undefined || finish !== 'tool-calls');
}

/** Of the model's own, without what the server has put in. */
function textOf({ parts }: MessageWithParts): string {
  return parts
    .flatMap((part) => (part.type === 'text' && !part.synthetic && !part.ignored ? [part.text] : []))
    .join('\n\n')
    .trim();
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function ofError(error: MessageError): Failed {
  switch (error.name) {
    case 'APIError': {
      const { statusCode, message } = error.data;
      if (message.startsWith(OF_THE_PROXY)) return failed('provider', message);
      const how = statusCode === undefined ? 'failed' : `answered ${statusCode}`;
      return failed('provider', `the model's service ${how}: ${message}`);
    }
    case 'ProviderAuthError':
    case 'ContentFilterError':
    case 'ContextOverflowError':
    case 'UnknownError':
      return failed('provider', `the model's service failed: ${error.data.message}`);
    case 'MessageOutputLengthError':
      return failed('no-answer', "the model's answer was longer than its service lets it be");
    case 'StructuredOutputError':
      return failed('no-answer', 'the model gave no object of the form that was asked for');
    case 'MessageAbortedError':
      return failed('server', 'the turn was ended by somebody else');
    default:
      return error satisfies never;
  }
}
