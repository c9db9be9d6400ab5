import { isImageName, mayBeBuiltHere } from './image-name.ts';
import type { JobSpec, ServiceSpec } from './job-spec.ts';
import { isServiceName } from './service-rules.ts';

/** A line of the file that engines read a container's environment from has at most 64 KiB. */
const LINE_BYTES = 60_000;

export interface ServiceFault {
  /** Of the service; null for all of them. */
  readonly name: string | null;
  readonly why: string;
}

/** Why these services cannot be had as they are said, in the words of `vole lint` and of a refused run. */
export function serviceFaults(spec: Pick<JobSpec, 'image' | 'imageFile' | 'services'>): ServiceFault[] {
  const { image, imageFile, services } = spec;
  if (services.length === 0) return [];
  if (image === null && imageFile === null) {
    const why =
      'a job with `services` needs an `image` or `image-file`: they are reached by their names from its container, not from the host';
    return [{ name: null, why }];
  }
  const names = new Set<string>();
  return services.flatMap((service) => {
    const why = faultOf(service, names);
    names.add(service.name);
    return why === null ? [] : [{ name: service.name, why: `service \`${service.name}\`: ${why}` }];
  });
}

function faultOf({ name, image, env }: ServiceSpec, before: ReadonlySet<string>): string | null {
  if (!isServiceName(name) || before.has(name)) return 'its name is taken or is no host name';
  if (!isImageName(image)) return `${JSON.stringify(image.slice(0, 100))} is no image's name`;
  if (mayBeBuiltHere(image)) return `image ${image} may be another repository's: expected a name with a tag`;
  for (const [variable, value] of Object.entries(env)) {
    const fault = valueFault(value);
    if (fault !== null) return `${fault} in \`env\`: ${variable}`;
  }
  return null;
}

/** What an engine's file of variables would not give back as it was. */
function valueFault(value: string): string | null {
  if (value.includes('\n')) return 'no value of several lines can be handed to a service';
  if (value.includes('\0')) return 'a value with a NUL';
  if (value.endsWith('\r')) return 'a value that ends with a carriage return';
  if (Buffer.byteLength(value) > LINE_BYTES) return `a value over ${LINE_BYTES} bytes`;
  return null;
}
