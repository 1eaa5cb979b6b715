import type { HostContext } from '../../context.js';
import type { TokenDocument } from '../tokens/token.model.js';
import { hashSecret, createRandomText } from '../tokens/tokens.js';
import type { UserDocument } from '../users/user.model.js';

/** How long a sign-in link works, in minutes. */
export const linkMinutes = 10;
/** Number of random letters and digits. */
const secretLength = 43;

/** The hash differs from that of a token with the same text, so that the secret of a link cannot be used as a token. */
const hashLinkSecret = (secret: string): string => hashSecret(`sign-in link ${secret}`);

/** Makes the secret of a link that signs a user in once. The link becomes invalid together with the tokens of the user. */
export async function issueSignInLink({ models }: HostContext, user: UserDocument): Promise<string> {
  const secret = createRandomText(secretLength);
  const created = new Date();
  await models.token.create({
    hash: hashLinkSecret(secret),
    userId: user._id,
    userEpoch: user.tokenEpoch ?? null,
    apiKeyId: null,
    apiKeyEpoch: null,
    scope: [],
    created,
    expires: new Date(created.getTime() + linkMinutes * 60_000),
  });
  return secret;
}

/** Uses up a link. @returns its user; `null` if the link is unknown, used, or too old, or its user cannot sign in */
export async function redeemSignInLink({ models }: HostContext, secret: string): Promise<UserDocument | null> {
  // Exactly one of several simultaneous requests gets the record.
  const link = await models.token.findOneAndDelete({ hash: hashLinkSecret(secret) }).lean<TokenDocument>();
  if (link === null || link.expires <= new Date() || link.userId === null) return null;
  const user = await models.user.findOne({ _id: link.userId, status: 'enabled' }).lean<UserDocument>();
  return user !== null && String(user.tokenEpoch ?? null) === String(link.userEpoch) ? user : null;
}
