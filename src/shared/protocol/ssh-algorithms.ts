/** What both ends offer: one modern choice of each kind, so that there is nothing to fall back to. */
export const SSH_ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes256-gcm@openssh.com', 'aes128-gcm@openssh.com', 'chacha20-poly1305@openssh.com'],
  hmac: ['hmac-sha2-256-etm@openssh.com'],
  compress: ['none'],
} as const;
