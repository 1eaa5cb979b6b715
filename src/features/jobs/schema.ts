const date = { type: 'string', format: 'date-time' };
const jobIdSchema = { type: 'string', pattern: '^[0-9a-f]{24}$' };

/** JSON schema of a job as it is sent. */
export const jobSchema: Record<string, unknown> = {
  type: 'object',
  required: ['_id', 'title', 'type', 'status', 'created', 'updated', '_accessLevel', '_modelType'],
  properties: {
    _id: jobIdSchema,
    title: { type: 'string' },
    type: { type: 'string' },
    status: {
      type: 'integer',
      enum: [0, 1, 2, 3, 4, 5, 820, 821, 822, 823, 824],
      description:
        '0 INACTIVE, 1 QUEUED, 2 RUNNING, 3 SUCCESS, 4 ERROR, 5 CANCELED; worker-run jobs also 820 FETCHING_INPUT, 821 CONVERTING_INPUT, ' +
        '822 CONVERTING_OUTPUT, 823 PUSHING_OUTPUT, 824 CANCELING.',
    },
    created: date,
    updated: date,
    when: date,
    interval: { type: 'integer' },
    progress: {
      oneOf: [
        { type: 'null' },
        {
          type: 'object',
          properties: {
            total: { type: ['number', 'null'] },
            current: { type: ['number', 'null'] },
            message: { type: ['string', 'null'] },
          },
        },
      ],
    },
    meta: { type: 'object' },
    public: { type: 'boolean' },
    parentId: { oneOf: [{ type: 'null' }, jobIdSchema] },
    asynchronous: { type: 'boolean' },
    timestamps: { type: 'array', items: { type: 'object', properties: { status: { type: 'integer' }, time: date } } },
    handler: { type: ['string', 'null'] },
    args: { type: 'array', description: 'Site administrators only.' },
    kwargs: { type: 'object', description: 'Site administrators only.' },
    log: { type: 'array', items: { type: 'string' }, description: 'GET /job/:id only.' },
    _accessLevel: { type: 'integer', enum: [-1, 0, 1, 2] },
    _modelType: { const: 'job' },
  },
};

/** JSON schema of a list of jobs. */
export const jobListSchema: Record<string, unknown> = { type: 'array', items: jobSchema };
