import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
}

/** What a client asked of the model, as it arrived. */
export interface ModelRequest {
  /** Counts from 1. */
  readonly number: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Names of the tools that were offered. */
  readonly tools: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

export type ModelAnswer =
  | { readonly say: string }
  /** Real calls, which the client executes and comes back with. */
  | { readonly call: readonly ToolCall[]; readonly say?: string }
  /** Nothing is answered, and the connection stays open; `afterHeaders` begins a stream before. */
  | { readonly hang: 'at-once' | 'after-headers' }
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** 200 with a body that is no answer at all. */
  | { readonly nonsense: string }
  /** 200 with a page, as from an address that is another service's. */
  | { readonly page: string; readonly type: string }
  /** The connection is broken. */
  | { readonly drop: true };

export interface ToolCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type ModelScript = (request: ModelRequest) => ModelAnswer | Promise<ModelAnswer>;

/**
 * A stand-in of a model's service on loopback: OpenAI's chat completions, streamed or not, answered by a
 * script. It keeps what was asked.
 */
export class ModelServer {
  readonly asked: ModelRequest[] = [];
  /** Decides each answer; a list is used up one by one, and its last answers whatever follows. */
  script: ModelScript;
  readonly #server: Server;
  readonly #waiting: { number: number; resolve: (request: ModelRequest) => void }[] = [];
  /** Connections that broke before their answer was complete. */
  #left = 0;
  readonly #leaving: { count: number; resolve: () => void }[] = [];

  private constructor(server: Server, script: ModelScript) {
    this.#server = server;
    this.script = script;
  }

  static async start(script: ModelScript | readonly ModelAnswer[] = []): Promise<ModelServer> {
    const server = createServer();
    const model = new ModelServer(server, typeof script === 'function' ? script : inTurn(script));
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        void model.#receive(request.url ?? '', request.headers, text, response);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return model;
  }

  /** Base URL, as a runner is given it. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** From now on. */
  answer(...answers: readonly ModelAnswer[]): void {
    this.script = inTurn(answers);
  }

  /** Resolves with the n-th request, counted from the start or from `forget`. */
  called(number: number): Promise<ModelRequest> {
    const there = this.asked[number - 1];
    if (there) return Promise.resolve(there);
    return new Promise((resolve) => this.#waiting.push({ number, resolve }));
  }

  /** Resolves when this many requests were given up by their client before they were answered. */
  givenUp(count: number): Promise<void> {
    if (this.#left >= count) return Promise.resolve();
    return new Promise((resolve) => this.#leaving.push({ count, resolve }));
  }

  /** Counts anew. */
  forget(): void {
    this.asked.length = 0;
    this.#left = 0;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(
    path: string,
    headers: IncomingHttpHeaders,
    text: string,
    response: ServerResponse,
  ): Promise<void> {
    const body = JSON.parse(text || '{}') as Record<string, unknown>;
    const tools = (body['tools'] ?? []) as { function: { name: string } }[];
    const request: ModelRequest = {
      number: this.asked.length + 1,
      path,
      headers,
      model: String(body['model']),
      messages: (body['messages'] ?? []) as ChatMessage[],
      tools: tools.map((tool) => tool.function.name),
      body,
    };
    response.on('close', () => {
      if (response.writableEnded) return;
      this.#left++;
      for (const { count, resolve } of this.#leaving) if (this.#left >= count) resolve();
    });
    this.asked.push(request);
    for (const { number, resolve } of this.#waiting) if (number === request.number) resolve(request);
    send(await this.script(request), body['stream'] === true, request, response);
  }
}

function inTurn(answers: readonly ModelAnswer[]): ModelScript {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? { say: 'done' };
}

function send(answer: ModelAnswer, streamed: boolean, request: ModelRequest, response: ServerResponse): void {
  if ('drop' in answer) {
    response.destroy();
  } else if ('hang' in answer) {
    if (answer.hang === 'at-once') return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(chunk(request, { role: 'assistant', content: '' }, null))}\n\n`);
  } else if ('status' in answer) {
    const error = JSON.stringify({ error: { message: `the script says ${answer.status}`, type: 'script' } });
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body ?? error);
  } else if ('nonsense' in answer) {
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    response.end(answer.nonsense);
  } else if ('page' in answer) {
    response.writeHead(200, { 'content-type': answer.type });
    response.end(answer.page);
  } else if (streamed) {
    stream(answer, request, response);
  } else {
    const { message, finish } = whole(answer, request);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: `chat-${request.number}`,
        object: 'chat.completion',
        model: request.model,
        choices: [{ index: 0, message, finish_reason: finish }],
        usage: USAGE,
      }),
    );
  }
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

type Spoken = Extract<ModelAnswer, { say?: string }>;

function whole(answer: Spoken, request: ModelRequest): { message: object; finish: string } {
  const calls = 'call' in answer ? answer.call : [];
  const message = {
    role: 'assistant',
    content: answer.say ?? null,
    ...(calls.length > 0 ? { tool_calls: calls.map((call, at) => toolCall(call, request, at)) } : {}),
  };
  return { message, finish: calls.length > 0 ? 'tool_calls' : 'stop' };
}

function toolCall({ tool, input }: ToolCall, request: ModelRequest, index: number): object {
  return {
    index,
    id: `call_${request.number}_${index}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  };
}

function chunk(request: ModelRequest, delta: object, finish: string | null): object {
  return {
    id: `chat-${request.number}`,
    object: 'chat.completion.chunk',
    model: request.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function stream(answer: Spoken, request: ModelRequest, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (data: object): boolean => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const calls = 'call' in answer ? answer.call : [];
  event(chunk(request, { role: 'assistant', content: answer.say ?? '' }, null));
  for (const [at, call] of calls.entries()) {
    event(chunk(request, { tool_calls: [toolCall(call, request, at)] }, null));
  }
  event({ ...chunk(request, {}, calls.length > 0 ? 'tool_calls' : 'stop'), usage: USAGE });
  response.end('data: [DONE]\n\n');
}
