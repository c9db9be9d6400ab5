import { expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

it.each([
  [
    'an image that is a flag',
    `jobs:\n  a:\n    image: --privileged\n    ${STEPS}\n`,
    'f:3:12: `image`: expected the name of an image, such as debian:12',
  ],
  [
    'an image that a matrix has made a flag',
    `jobs:\n  a:\n    image: \${{ matrix.i }}\n    ${STEPS}\n    strategy: {matrix: {i: [node, --privileged]}}\n`,
    "f:3:5: `image` is `--privileged`, which is no image's name, in `a (--privileged)`",
  ],
  [
    'an image by its id',
    `jobs:\n  a: {${STEPS}, image: 0123456789ab}\n`,
    "f:2:26: `image` is `0123456789ab`, an image's id; expected its name, with a tag, in `a`",
  ],
  [
    'an image file outside of the checkout',
    `jobs:\n  a: {${STEPS}, image-file: ../D}\n`,
    'f:2:38: `image-file`: expected a file within the checkout, such as ci/Dockerfile',
  ],
  [
    'an image file that a matrix has led out of the checkout',
    `jobs:\n  a:\n    image-file: "\${{ matrix.i }}/D"\n    ${STEPS}\n    strategy: {matrix: {i: [x, ..]}}\n`,
    'f:3:5: `image-file` is `../D`, which is no file within the checkout, in `a (..)`',
  ],
  [
    'an image file beside an image',
    `jobs:\n  a: {${STEPS}, image: x:1, image-file: D}\n`,
    'f:2:38: there is `image` beside `image-file`; expected one of them in `a`',
  ],
  [
    'an image file without a checkout',
    `jobs:\n  a: {${STEPS}, checkout: false, image-file: D}\n`,
    'f:2:43: `image-file` is a file of the checkout, and there is `checkout: false` in `a`',
  ],
  [
    'a pull that only an operator may forbid',
    `jobs:\n  a: {${STEPS}, image: x:1, image-pull: never}\n`,
    'f:2:50: `image-pull`: expected missing or always',
  ],
])('%s is a fault that says where and what', (_, text, line) => {
  const parsed = parseWorkflow(text, 'f');
  expect(parsed.ok ? [] : parsed.faults.map(faultLine)).toEqual([line]);
});
