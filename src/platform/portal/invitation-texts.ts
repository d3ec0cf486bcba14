// The mail that invites a visitor, in the languages of the portal.
import type { languages } from '../../core/text/portal-terms.ts';

export type Language = (typeof languages)[number];
type About = { readonly company: string; readonly host: string };
export type InvitationTexts = {
  readonly subject: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly action: string;
  /** Above the address of the button. */
  readonly openAddress: string;
  readonly ignore: string;
  /** Before the address where visitors can ask. */
  readonly questions: string;
};

const texts: Readonly<Record<Language, (about: About) => InvitationTexts>> = {
  en: ({ company, host }) => ({
    subject: `Your documents and payments at ${company}`,
    title: `The customer portal of ${company}`,
    paragraphs: [
      `${company} invites you to its customer portal at ${host}. It shows your documents, your payments and what is open.`,
      'Sign in with the e-mail address to which this mail was sent. You get a code by mail and need no password.',
    ],
    action: 'Open the portal',
    openAddress: 'If the button does not work, open this address:',
    ignore: 'If you did not expect this mail, you can ignore it.',
    questions: 'Questions?',
  }),
  de: ({ company, host }) => ({
    subject: `Ihre Belege und Zahlungen bei ${company}`,
    title: `Das Kundenportal von ${company}`,
    paragraphs: [
      `${company} lädt Sie in das Kundenportal unter ${host} ein. Es zeigt Ihre Belege, Ihre Zahlungen und was offen ist.`,
      'Melden Sie sich mit der E-Mail-Adresse an, an die diese Nachricht ging. Sie erhalten einen Code per E-Mail und brauchen kein Passwort.',
    ],
    action: 'Portal öffnen',
    openAddress: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
    ignore: 'Wenn Sie diese Nachricht nicht erwartet haben, können Sie sie ignorieren.',
    questions: 'Fragen?',
  }),
  fr: ({ company, host }) => ({
    subject: `Vos documents et paiements chez ${company}`,
    title: `Le portail client de ${company}`,
    paragraphs: [
      `${company} vous invite sur son portail client à l’adresse ${host}. Vous y trouvez vos documents, vos paiements et ce qui reste dû.`,
      'Connectez-vous avec l’adresse e-mail à laquelle ce message a été envoyé. Vous recevez un code par e-mail et n’avez pas besoin de mot de passe.',
    ],
    action: 'Ouvrir le portail',
    openAddress: 'Si le bouton ne fonctionne pas, ouvrez cette adresse :',
    ignore: 'Si vous n’attendiez pas ce message, vous pouvez l’ignorer.',
    questions: 'Des questions ?',
  }),
  es: ({ company, host }) => ({
    subject: `Sus documentos y pagos en ${company}`,
    title: `El portal de clientes de ${company}`,
    paragraphs: [
      `${company} le invita a su portal de clientes en ${host}. Allí verá sus documentos, sus pagos y lo que está pendiente.`,
      'Inicie sesión con la dirección de correo a la que se envió este mensaje. Recibirá un código por correo y no necesita contraseña.',
    ],
    action: 'Abrir el portal',
    openAddress: 'Si el botón no funciona, abra esta dirección:',
    ignore: 'Si no esperaba este mensaje, puede ignorarlo.',
    questions: '¿Preguntas?',
  }),
  nl: ({ company, host }) => ({
    subject: `Uw documenten en betalingen bij ${company}`,
    title: `Het klantenportaal van ${company}`,
    paragraphs: [
      `${company} nodigt u uit in het klantenportaal op ${host}. U ziet er uw documenten, uw betalingen en wat nog openstaat.`,
      'Meld u aan met het e-mailadres waarnaar dit bericht is gestuurd. U krijgt een code per e-mail en hebt geen wachtwoord nodig.',
    ],
    action: 'Portaal openen',
    openAddress: 'Werkt de knop niet? Open dan dit adres:',
    ignore: 'Als u dit bericht niet verwachtte, kunt u het negeren.',
    questions: 'Vragen?',
  }),
};

export const invitationTexts = (language: Language, about: About): InvitationTexts => texts[language](about);
