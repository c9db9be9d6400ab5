import type { Command, SettingKind } from './setting.ts';
import type { SETTINGS, SettingName } from './table.ts';

/** `cache-size` as code has it: `cacheSize`. */
export type Camel<Name extends string> = Name extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Name;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** An amount of bytes, or a share (over 0 to 1) of the file system's size. */
export type SizeOrShare = { readonly bytes: number } | { readonly share: number };

/** The value that a setting of this kind has in code. */
export type ValueOf<Kind extends SettingKind> = Kind extends { type: 'choice'; of: readonly (infer Word)[] }
  ? Word
  : Kind extends { type: 'string' | 'word' | 'signature' | 'user' | 'path' | 'web-url' | 'version' }
    ? string
    : Kind extends { type: 'list' }
      ? readonly string[]
      : Kind extends { type: 'flag' }
        ? boolean
        : Kind extends { type: 'size-or-share' }
          ? SizeOrShare
          : Kind extends { type: 'address' }
            ? Address
            : number;

type Table = typeof SETTINGS;

type NamesOf<Group extends Command> = {
  [Name in SettingName]: Group extends Table[Name]['commands'][number] ? Name : never;
}[SettingName];

type RequiredFor<Name extends SettingName> = Table[Name] extends { required: readonly (infer G)[] }
  ? G
  : never;

type OrNull<Name extends SettingName, Group extends Command> = Table[Name]['default'] extends null
  ? Group extends RequiredFor<Name>
    ? never
    : null
  : never;

/** The settings of one command: null only where there is neither a default nor a duty to give it. */
export type Settings<Group extends Command> = {
  readonly [Name in NamesOf<Group> as Camel<Name>]: ValueOf<Table[Name]['kind']> | OrNull<Name, Group>;
};
