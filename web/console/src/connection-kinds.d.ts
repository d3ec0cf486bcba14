declare module 'virtual:connection-kinds' {
  export const kinds: readonly import('../connection-kinds.ts').Kind[];
}
