import { guardName, pullName } from '../../shared/dir-layout.ts';
import { ClientOutput, clientOptions } from './client-output.ts';
import { type ImageParts, type ImageSource, imageFailure, type Provided } from './image-source.ts';
import { inTurn, type Work } from './turn.ts';

/** An image that has a name, and comes from where that says. */
export class PulledImage implements ImageSource {
  readonly words: string;
  readonly #parts: ImageParts;
  readonly #image: string;

  constructor(parts: ImageParts, image: string) {
    this.#parts = parts;
    this.#image = image;
    this.words = `image ${image}`;
  }

  async find(): Promise<Provided | null> {
    return this.#parts.job.settings.pull === 'always' ? null : { ok: true, image: this.#image };
  }

  async provide(): Promise<Provided | null> {
    const { engine, job } = this.#parts;
    const { pull } = job.settings;
    if (pull === 'never') return null;
    const name = pullName(engine.name, this.#image);
    return await inTurn(this.#parts, name, {
      guard: guardName.pull(name),
      subject: { kind: 'pull', engine: engine.name, image: this.#image },
      what: 'pull',
      of: this.words,
      ready: async () => (pull === 'always' || !(await this.#isHere()) ? null : this.#image),
      work: () => this.#pull(),
    });
  }

  async #isHere(): Promise<boolean> {
    const { engine } = this.#parts;
    return (await engine.call(['image', 'inspect', '--format', '{{.Id}}', this.#image])).ok;
  }

  async #pull(): Promise<Work> {
    const { engine, log } = this.#parts;
    log.say(0, `pulling ${this.words}`);
    const output = new ClientOutput(this.#parts);
    const pulled = await engine.call(['pull', this.#image], clientOptions(this.#parts, output, 'pull'));
    const said = output.end();
    if (pulled.ok) return { ok: true, image: this.#image };
    return { ok: false, ...imageFailure(this.words, pulled.failure), output: said };
  }
}
