/**
 * Option of writes that are acknowledged: the answer comes when most servers of the database have them on disk. Asked for explicitly, because
 * a database that is killed loses what the usual concern of a single server, or that of a connection string, has acknowledged.
 */
export const durable = { writeConcern: { w: 'majority', j: true } } as const;
