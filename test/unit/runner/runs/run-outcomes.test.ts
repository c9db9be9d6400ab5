import { describe, expect, it } from 'vitest';
import { notAllowed, outcomeOfEnd, unprepared } from '../../../../src/runner/runs/run-outcomes.ts';
import { parseJob } from '../../../../src/runner/slots/parse-job.ts';

const raw = {
  run: 1,
  attempt: 1,
  pipeline: 1,
  repository: 'a/b',
  trust: 'untrusted',
  job: 'test',
  source: null,
  steps: [{ kind: 'run', name: 'x', run: 'true' }],
  timeoutMs: 1000,
};

function specOf(change: object) {
  const parsed = parseJob(1, 1, { ...raw, ...change });
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.spec;
}

describe('what may run on the host', () => {
  it('is a trusted run by default, and an untrusted one is refused by name', () => {
    expect(notAllowed(specOf({ trust: 'trusted' }), 'trusted', false)).toBeNull();
    expect(notAllowed(specOf({}), 'trusted', false)).toMatchObject({
      result: 'refused',
      reason: 'not-allowed',
    });
  });

  it('is everything with always and nothing with never', () => {
    expect(notAllowed(specOf({}), 'always', false)).toBeNull();
    expect(notAllowed(specOf({ trust: 'trusted' }), 'never', false)).toMatchObject({ result: 'refused' });
  });
});

describe('services', () => {
  const services = (env = {}, name = 'db') => ({ services: [{ name, image: 'x', env }] });

  it('are refused by name where the job has no image', () => {
    expect(notAllowed(specOf(services()), 'always', true)).toMatchObject({
      result: 'refused',
      reason: 'not-allowed',
      detail: expect.stringMatching(/^a job with `services` needs an `image` or `image-file`/),
    });
    expect(notAllowed(specOf({ image: 'x', ...services({ A: '  b "c" #' }) }), 'always', true)).toBeNull();
  });

  it.each([
    [{ MANY: 'a\nb' }, 'MANY'],
    [{ RETURN: 'a\r' }, 'RETURN'],
    [{ NUL: 'a\0' }, 'NUL'],
    [{ LARGE: 'é'.repeat(30_001) }, 'LARGE'],
  ])('are refused by name where a value cannot be handed over as it is: %#', (env, name) => {
    const refused = notAllowed(specOf({ image: 'x', ...services(env) }), 'always', true);
    expect(refused?.detail).toMatch(/^service `db`: /);
    expect(refused?.detail).toContain(name);
  });

  it('may not take the name of the job or of another, nor a flag or an image of another repository', () => {
    const two = { services: [...services().services, ...services().services] };
    const flag = { services: [{ name: 'db', image: '--privileged' }] };
    const id = { services: [{ name: 'db', image: '0123456789ab' }] };
    const built = { services: [{ name: 'db', image: 'localhost/vole-built/o-r:1' }] };
    for (const change of [services({}, 'job'), two, flag, id, built]) {
      expect(notAllowed(specOf({ image: 'x', ...change }), 'always', true)).toMatchObject({
        result: 'refused',
      });
    }
  });
});

describe('what may run in a container', () => {
  const why = (change: object, engine = true): string | undefined =>
    notAllowed(specOf(change), 'never', engine)?.detail;

  it('is an image by its name, and one that is built from a file', () => {
    expect(notAllowed(specOf({ image: 'debian:12' }), 'never', true)).toBeNull();
    expect(notAllowed(specOf({ imageFile: 'ci/Dockerfile' }), 'never', true)).toBeNull();
  });

  it('is nothing where there is no engine', () => {
    expect(why({ image: 'debian:12' }, false)).toMatch(/^image debian:12: .* no container engine/);
    expect(why({ imageFile: 'D' }, false)).toMatch(/^image-file D: .* no container engine/);
  });

  it('is nothing that may be a flag, an image of another repository, or a file of the host', () => {
    expect(why({ image: '--privileged' })).toMatch(/is no image's name/);
    expect(why({ image: '0123456789ab' })).toMatch(/may be another repository's/);
    expect(why({ imageFile: '../../etc/passwd' })).toMatch(/is no file within the checkout/);
    expect(why({ image: 'a:1', imageFile: 'D' })).toMatch(/is no file within the checkout/);
  });
});

describe('the outcome of a run', () => {
  it('says that the disk was full where preparing met ENOSPC', () => {
    const error = Object.assign(new Error('ENOSPC: no space left on device, mkdir /x'), { code: 'ENOSPC' });
    expect(unprepared(error, null)).toMatchObject({ result: 'failed', reason: 'disk-full' });
  });

  it('follows why we stopped it where its thread died of that, and says so where it died by itself', () => {
    const died = { type: 'died', why: 'out of memory' } as const;
    const stop = { reason: 'timeout', why: 'over its 5 minutes' } as const;
    expect(outcomeOfEnd(died, stop, 5)).toMatchObject({ result: 'timed-out', reason: 'timeout' });
    expect(outcomeOfEnd(died, null, 5)).toMatchObject({ result: 'failed', reason: 'worker-died' });
  });
});

describe('a job message', () => {
  it('is refused with the field at fault where its spec does not parse', () => {
    const parsed = parseJob(1, 1, { ...raw, steps: [{ kind: 'dance', name: 'x', run: 'true' }] });
    expect(parsed).toMatchObject({ ok: false });
    expect(parsed.ok ? '' : parsed.why).toMatch(/steps\.0\.kind/);
  });

  it('is refused where its spec is another run than the message says', () => {
    expect(parseJob(2, 1, raw).ok).toBe(false);
  });
});

describe('a job with an image', () => {
  it('may run wherever there is an engine, untrusted and with --host-jobs never too', () => {
    expect(notAllowed(specOf({ image: 'debian:12' }), 'never', true)).toBeNull();
  });

  it('is refused by name where there is none, and where its image is a flag', () => {
    const refusal = notAllowed(specOf({ image: 'debian:12' }), 'always', false);
    expect(refusal).toMatchObject({ result: 'refused', reason: 'not-allowed' });
    expect(refusal?.detail).toContain('debian:12');
    const flag = notAllowed(specOf({ image: '--privileged' }), 'always', true);
    expect(flag).toMatchObject({ result: 'refused', reason: 'not-allowed' });
  });
});
