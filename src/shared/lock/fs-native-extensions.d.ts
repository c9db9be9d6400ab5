declare module 'fs-native-extensions' {
  /** Takes an fcntl lock of the open file description; false where another one stands against it. */
  export function tryLock(fd: number, options?: { shared?: boolean }): boolean;
  export function unlock(fd: number): void;
}
