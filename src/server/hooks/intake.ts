import { createHash } from 'node:crypto';
import { FORGE_KINDS, type ForgeKind } from '../../shared/api-forge.ts';
import { repositoryNameSchema } from '../../shared/api-names.ts';
import { oneLine } from '../../shared/errors.ts';
import type { EventStore } from '../store/event-store.ts';
import { BodyBudget, type BodyFault } from './body-budget.ts';
import { deliveryIdOf, eventByShape, eventNameOf, type Reading, readPayload } from './payload.ts';
import { BodyDigests, type Header, signatureOf } from './signature.ts';
import type { HookSource } from './source.ts';

/** A request to `/hooks/FORGE/OWNER/NAME`, its body not yet read. */
export interface Delivery {
  readonly forge: string;
  readonly repository: string;
  readonly header: Header;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** What the forge is answered; `text` is one line and stands on its page of the delivery. */
export interface HookReply {
  readonly status: 200 | 202 | 400 | 401 | 404 | 408 | 413 | 415 | 503;
  readonly text: string;
  /** The event that it is, or was before. */
  readonly event?: number;
}

/** What is believed to be from the forge. */
interface Heard {
  readonly repository: string;
  readonly source: HookSource;
  /** Null: by the shape of the body. */
  readonly event: string | null;
  readonly delivery: string | null;
  readonly body: Buffer;
  readonly digest: Buffer;
}

export interface IntakeParts {
  readonly events: Pick<EventStore, 'receive'>;
  /** Null where the repository is not registered, or with no forge. */
  readonly sourceOf: (repository: string) => Promise<HookSource | null>;
  readonly commandWord: string;
  readonly log: { warn(facts: object, text: string): void };
  /** Something new was kept. */
  readonly onEvent: () => void;
}

/**
 * Deliveries of forges: who signed one with its repository's secret is heard, nobody else changes
 * anything. Nothing of a body is looked at before its signature was found right.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #budget = new BodyBudget();

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** Throws where the store cannot keep it: the forge is told so, and must not take it for received. */
  async take(delivery: Delivery): Promise<HookReply> {
    const { forge, repository, header } = delivery;
    const facts = {
      forge: forge.slice(0, 50),
      repository: repository.slice(0, 210),
      delivery: kind(forge) ? deliveryIdOf(forge, header)?.slice(0, 200) : undefined,
    };
    try {
      const reply = await this.#take(delivery);
      if (reply.status >= 400)
        this.#parts.log.warn({ ...facts, status: reply.status }, `a delivery was refused: ${reply.text}`);
      return reply;
    } catch (error) {
      this.#parts.log.warn({ ...facts, error: oneLine(error) }, 'a delivery could not be kept');
      throw error;
    }
  }

  async #take({ forge, repository, header, body }: Delivery): Promise<HookReply> {
    const source = kind(forge) ? await this.#source(forge, repository) : null;
    if (!kind(forge) || source === null)
      return { status: 404, text: 'no such hook: `vole repo webhook OWNER/NAME` prints the right URL' };
    if (!isJson(header('content-type'))) {
      return {
        status: 415,
        text: 'only JSON is taken: choose the content type application/json in the settings of the hook',
      };
    }
    const signature = signatureOf(forge, header);
    if (signature === null)
      return { status: 401, text: 'the delivery is not signed: set the secret in the settings of the hook' };
    const digests = new BodyDigests(source.secret);
    const read = await this.#budget.read(body, lengthOf(header), (part) => digests.update(part));
    if (typeof read === 'string') return bodyReply(read);
    try {
      const { signed, digest } = digests.finish(signature);
      if (!signed) return { status: 401, text: 'the signature is not one by the secret of this hook' };
      const event = eventNameOf(forge, header);
      const delivery = deliveryIdOf(forge, header);
      if (event === null) return { status: 400, text: 'the header with the name of the event is missing' };
      return await this.#keep({ repository, source, event, delivery, body: read.body, digest });
    } finally {
      read.release();
    }
  }

  /** One that an administrator feeds by hand: as if the forge had sent it, and signed. */
  async replay(replayed: {
    readonly repository: string;
    /** Null: by the shape of the body. */
    readonly event: string | null;
    readonly delivery: string;
    readonly body: Buffer;
  }): Promise<HookReply> {
    const { repository, event, delivery, body } = replayed;
    const source = await this.#parts.sourceOf(repository);
    if (source === null)
      return { status: 404, text: `${repository} has no forge: \`vole repo set --forge\` says which` };
    const digest = createHash('sha256').update(body).digest();
    return this.#keep({ repository, source, event, delivery, body, digest });
  }

  async #keep(signed: Heard): Promise<HookReply> {
    const { repository, source, body, digest, delivery } = signed;
    if (delivery === null || delivery === '')
      return { status: 400, text: 'the header with the id of the delivery is missing' };
    if (delivery.length > 200) return { status: 400, text: 'the id of the delivery is over 200 characters' };
    const reading = this.#read(signed.event, body, source);
    switch (reading.type) {
      case 'malformed':
        return { status: 400, text: reading.why };
      case 'nothing':
        if (reading.project !== null && !sameProject(reading.project, source))
          return otherProject(reading.project, source);
        return { status: 200, text: `nothing to do: ${reading.why}` };
      case 'event':
        break;
      default:
        return reading satisfies never;
    }
    const { project, event } = reading;
    if (!sameProject(project, source)) return otherProject(project, source);
    const { events, onEvent } = this.#parts;
    const kept = await events.receive({ repository, forge: source.forge, delivery, digest, event });
    if (kept.repeated)
      return { status: 200, text: `received before, as event ${kept.event}`, event: kept.event };
    onEvent();
    return { status: 202, text: `event ${kept.event}`, event: kept.event };
  }

  #read(name: string | null, body: Buffer, source: HookSource): Reading {
    let json: unknown;
    try {
      json = JSON.parse(body.toString('utf8'));
    } catch {
      return { type: 'malformed', why: 'the body is no JSON' };
    }
    const event = name ?? eventByShape(json);
    if (event === null) return { type: 'malformed', why: 'the body is of no event that is known' };
    return readPayload(event, json, { commandWord: this.#parts.commandWord, botLogin: source.botLogin });
  }

  async #source(forge: ForgeKind, repository: string): Promise<HookSource | null> {
    if (!repositoryNameSchema.safeParse(repository).success) return null;
    const source = await this.#parts.sourceOf(repository);
    return source !== null && alike(source.forge, forge) ? source : null;
  }
}

function kind(text: string): text is ForgeKind {
  return (FORGE_KINDS as readonly string[]).includes(text);
}

/** Forgejo signs as Gitea does, beside its own. */
function alike(a: ForgeKind, b: ForgeKind): boolean {
  return a === b || (a !== 'github' && b !== 'github');
}

function sameProject(project: string, source: HookSource): boolean {
  return project.toLowerCase() === source.project.toLowerCase();
}

function otherProject(project: string, source: HookSource): HookReply {
  return {
    status: 404,
    text: `the delivery is about ${project.slice(0, 200)}, and this hook is ${source.project}'s`,
  };
}

function isJson(type: string | null): boolean {
  return /^application\/json\s*(?:;|$)/i.test(type?.trim() ?? '');
}

function lengthOf(header: Header): number | null {
  const text = header('content-length');
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function bodyReply(fault: BodyFault): HookReply {
  switch (fault) {
    case 'too-big':
      return { status: 413, text: 'the body is over 25 MiB' };
    case 'busy':
      return { status: 503, text: 'too many deliveries at once: send it again' };
    case 'broken':
      return { status: 408, text: 'the body did not come whole' };
    default:
      return fault satisfies never;
  }
}
