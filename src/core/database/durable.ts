/**
 * Options of a write, so that it is acknowledged only when most servers of the database have it on disk. They are set explicitly,
 * because with the default write concern of a single server, or the one in the connection string, a killed database may lose
 * acknowledged writes.
 */
export const durable = { writeConcern: { w: 'majority', j: true } } as const;
