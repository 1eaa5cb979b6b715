/** Names of settings, whose keys are English. */
export const settingNames: Record<string, string> = {
  'large_image.show_thumbnails': 'Vorschaubilder zeigen',
  'large_image.show_viewer': 'Viewer zeigen',
  'large_image.default_viewer': 'Standard-Viewer',
  'large_image.auto_set': 'Hochgeladene Bilder automatisch öffnen',
  'large_image.max_thumbnail_files': 'Höchstzahl der Vorschaubilder',
  'large_image.max_small_image_size': 'Größtes Bild, das ohne Kacheln geöffnet wird',
  'large_image.icc_correction': 'Farbkorrektur',
  'large_image.annotation_history': 'Frühere Versionen von Annotationen aufbewahren',
  'large_image.annotation_cleanup': 'Alte Versionen von Annotationen entfernen',
  'large_image.merge_dicom': 'DICOM-Dateien zusammenfassen',
  'large_image.associated_images': 'Begleitbilder',
  'large_image.links': 'Links',
  'large_image.links_without_end': 'Unbefristete Links',
  'large_image.notification_stream_fallback': 'Benachrichtigungen abfragen',
  'large_image.show_extra_public': 'Zusatzinhalte in Listen für alle',
  'large_image.show_extra': 'Zusatzinhalte in Listen für Angemeldete',
  'large_image.show_extra_admin': 'Zusatzinhalte in Listen für Administratoren',
  'large_image.show_item_extra_public': 'Zusatzinhalte auf Seiten für alle',
  'large_image.show_item_extra': 'Zusatzinhalte auf Seiten für Angemeldete',
  'large_image.show_item_extra_admin': 'Zusatzinhalte auf Seiten für Administratoren',
  'large_image.dicomweb_metadata': 'DICOMweb: Metadaten',
  'large_image.dicomweb_study_key': 'DICOMweb: Schlüssel der Studie',
  'large_image.config_folder': 'Ordner mit der Standardkonfiguration',
  'core.cookie_lifetime': 'Dauer einer Anmeldung',
  'core.cookie_domain': 'Domain des Cookies',
  'core.cors.allow_origin': 'CORS: erlaubte Herkunft',
  'core.cors.allow_methods': 'CORS: erlaubte Methoden',
  'core.cors.allow_headers': 'CORS: erlaubte Kopfzeilen',
  'core.cors.expose_headers': 'CORS: lesbare Kopfzeilen',
  'core.registration_policy': 'Wer sich registrieren darf',
  'core.registrations_per_address': 'Registrierungen je Adresse',
  'core.enable_password_login': 'Anmeldung mit Passwort',
  'core.sign_in_window': 'Zeitraum für fehlgeschlagene Anmeldungen',
  'core.sign_in_failures_per_login_and_address': 'Fehlversuche je Anmeldename und Adresse',
  'core.sign_in_failures_per_login': 'Fehlversuche je Anmeldename',
  'core.sign_in_failures_per_address': 'Fehlversuche je Adresse',
  'core.email_verification': 'Bestätigung der E-Mail-Adresse',
  'core.api_keys': 'API-Schlüssel',
  'core.collection_create_policy': 'Wer Sammlungen anlegen darf',
  'core.user_default_folders': 'Ordner für neue Konten',
  'core.upload_minimum_chunk_size': 'Mindestgröße der Teile eines Uploads',
  'core.upload_maximum_size': 'Höchstgröße eines Uploads',
  'core.user_maximum_uploads': 'Unvollständige Uploads je Konto',
  'core.user_quota': 'Kontingent je Konto',
  'core.server_root': 'Adresse des Servers',
  'core.brand_name': 'Name des Servers',
  'core.contact_email_address': 'E-Mail-Adresse für Anfragen',
  'core.privacy_notice': 'Datenschutzerklärung',
  'core.banner_color': 'Farbe des Banners',
  'core.show_download': 'Schaltflächen zum Herunterladen',
  'core.disable_anonymous_access': 'Zugriff ohne Anmeldung sperren',
  'core.smtp.encryption': 'SMTP-Verschlüsselung',
  'core.add_to_group_policy': 'Wer Mitglieder in Gruppen aufnehmen darf',
  'core.trash_days': 'Tage im Papierkorb',
  'core.enable_notification_stream': 'Benachrichtigungen als Ereignisstrom',
};

export const settingDescriptions: Record<string, string> = {
  'large_image.show_thumbnails': 'Vorschaubilder in Listen von Objekten zeigen.',
  'large_image.show_viewer': 'Einen Viewer auf den Seiten von Objekten in Girders Webclient zeigen.',
  'large_image.default_viewer': 'Viewer, den Girders Webclient zuerst zeigt.',
  'large_image.auto_set':
    'Hochgeladene Dateien mit bekannter Endung oder bekanntem Typ automatisch zu großen Bildern machen; `all` versucht es mit jeder Datei.',
  'large_image.max_thumbnail_files':
    'Höchstzahl der Bilder im Cache je Objekt und Art (Vorschaubild, Etikett, Makrobild, …); 0 bewahrt keine auf.',
  'large_image.max_small_image_size':
    'Größte Breite und Höhe in Pixeln, bis zu der ein Bild ohne Kacheln als eine einzige Kachel ausgeliefert wird.',
  'large_image.icc_correction':
    'Farben mit dem ICC-Profil der Datei in sRGB umrechnen. Bei `true` mit perzeptiver Wiedergabeabsicht.',
  'large_image.annotation_history':
    'Frühere Versionen von Annotationen aufbewahren, damit gelöschte wiederhergestellt werden können.',
  'large_image.annotation_cleanup':
    'Stündlich alte Versionen von Annotationen entfernen: solche, die älter als 30 Tage sind, außer den 10 neuesten jeder Annotation. Außerdem alle Versionen von Annotationen entfernen, deren Objekt es nicht mehr gibt.',
  'large_image.merge_dicom':
    'DICOM-Objekte einer Serie in einem Ordner zu einem Objekt zusammenfassen. Dateien eines Objekts bilden immer ein Bild.',
  'large_image.associated_images':
    'Berechtigung am Objekt, die nötig ist, um Etikett, Makrobild und andere Begleitbilder zu sehen. Darauf können Namen von Patienten stehen.',
  'large_image.links':
    'Berechtigung an Objekt oder Ordner, die nötig ist, um Links dazu anzulegen. OFF: Niemand kann Links anlegen; vorhandene gelten weiter.',
  'large_image.links_without_end': 'Unbefristete Links erlauben.',
  'large_image.notification_stream_fallback':
    'Girders Webclient fragt Benachrichtigungen regelmäßig ab, wenn der Ereignisstrom abgeschaltet ist.',
  'large_image.show_extra_public': 'Zusätzlicher Inhalt in Listen von Objekten für alle.',
  'large_image.show_extra': 'Zusätzlicher Inhalt in Listen von Objekten für Angemeldete.',
  'large_image.show_extra_admin': 'Zusätzlicher Inhalt in Listen von Objekten für Administratoren.',
  'large_image.show_item_extra_public': 'Zusätzlicher Inhalt auf Seiten von Objekten in Girders Webclient, für alle.',
  'large_image.show_item_extra': 'Zusätzlicher Inhalt auf Seiten von Objekten in Girders Webclient, für Angemeldete.',
  'large_image.show_item_extra_admin': 'Zusätzlicher Inhalt auf Seiten von Objekten in Girders Webclient, für Administratoren.',
  'large_image.dicomweb_metadata':
    'Schlüssel der Metadaten, aus denen DICOM-Attribute gelesen werden: {"PatientID": "case.patient"}. Steht ein Attribut hier nicht, ist sein eigener Name der Schlüssel.',
  'large_image.dicomweb_study_key':
    'Schlüssel der Metadaten, dessen gleiche Werte Objekte zu einer DICOM-Studie verbinden. Leer: Jedes Objekt ist eine Studie.',
  'large_image.config_folder':
    'Ordner mit der Standardkonfiguration. Sie gilt für einen Ordner, wenn weder er selbst noch ein Ordner darüber eine Konfiguration hat.',
  'core.cookie_lifetime': 'Wie lange eine Anmeldung gilt, in Tagen.',
  'core.cookie_domain': 'Domain des Cookies der Anmeldung; leer: nur dieser Host.',
  'core.cors.allow_origin': 'Herkunft von Seiten, die diesen Server aufrufen dürfen; leer: keine.',
  'core.cors.allow_methods': 'HTTP-Methoden, die für Seiten anderer Herkunft erlaubt sind.',
  'core.cors.allow_headers': 'Kopfzeilen von Anfragen, die für Seiten anderer Herkunft erlaubt sind.',
  'core.cors.expose_headers': 'Kopfzeilen von Antworten, die Seiten anderer Herkunft lesen dürfen.',
  'core.registration_policy':
    'Wer sich registrieren darf: alle (open), niemand (closed) oder alle, nach Bestätigung durch einen Administrator (approve).',
  'core.registrations_per_address':
    'Höchstzahl der Konten und anonymen Sitzungen, die ein Netzwerk ohne Anmeldung je Stunde anlegen kann.',
  'core.enable_password_login': 'Anmeldung mit Passwort erlauben.',
  'core.sign_in_window': 'Wie lange fehlgeschlagene Anmeldungen zählen, in Sekunden ab der ersten.',
  'core.sign_in_failures_per_login_and_address': 'Höchstzahl falscher Passwörter für einen Anmeldenamen aus einem Netzwerk.',
  'core.sign_in_failures_per_login':
    'Höchstzahl falscher Passwörter für einen Anmeldenamen, insgesamt aus allen Netzwerken. Netzwerke, aus denen sich die Person in den letzten 21 Tagen angemeldet hat, zählen nicht mit.',
  'core.sign_in_failures_per_address':
    'Höchstzahl falscher Passwörter (für beliebige Anmeldenamen) und falscher API-Schlüssel aus einem Netzwerk.',
  'core.email_verification':
    'Bei `required` können sich Personen erst anmelden, wenn ein Administrator ihre E-Mail-Adresse als bestätigt gekennzeichnet hat. Die anderen Werte schränken die Anmeldung nicht ein.',
  'core.api_keys': 'API-Schlüssel erlauben.',
  'core.collection_create_policy': 'Wer außer Administratoren Sammlungen anlegen darf: alle oder diese Gruppen und Personen.',
  'core.user_default_folders': 'Ordner, die für ein neues Konto angelegt werden.',
  'core.upload_minimum_chunk_size': 'Mindestgröße der Teile eines Uploads, außer dem letzten.',
  'core.upload_maximum_size': 'Größte Datei, die hochgeladen werden kann.',
  'core.user_maximum_uploads': 'Höchstzahl unvollständiger Uploads je Konto.',
  'core.user_quota':
    'Höchste Gesamtgröße der (auch unvollständigen) Uploads eines Kontos und der Dateien, die Aufträge für das Konto erzeugt haben.',
  'core.server_root':
    'Öffentliche Adresse des Servers, mit ihrem Pfad, falls ein Proxy ihn unterhalb eines Pfads ausliefert. Adressen in Antworten beginnen damit.',
  'core.brand_name':
    'Name des Servers auf seinen Seiten. Bis Sie einen setzen, steht dort „Large image“, obwohl die API „Girder“ zurückgibt.',
  'core.contact_email_address': 'E-Mail-Adresse des Administrators.',
  'core.privacy_notice': 'Link zur Datenschutzerklärung in Web-Clients.',
  'core.banner_color': 'Farbe des Banners von Web-Clients.',
  'core.show_download':
    'Wer in Web-Clients Schaltflächen zum Herunterladen sieht. Wer herunterladen darf, entscheiden die Berechtigungen.',
  'core.disable_anonymous_access':
    'Ohne Wirkung; wird angenommen, weil Web-Clients es senden. Was ohne Konto sichtbar ist, entscheiden die Berechtigungen.',
  'core.smtp.encryption': 'Ohne Wirkung; wird angenommen, weil Web-Clients es senden. Dieser Server verschickt keine E-Mails.',
  'core.add_to_group_policy':
    'Wer außer Administratoren des Servers Mitglieder ohne Einladung in eine Gruppe aufnehmen darf: niemand (never), ihre Administratoren (yesadmin) oder auch ihre Moderatoren (yesmod).',
  'core.trash_days': 'Wie lange Ordner und Objekte im Papierkorb bleiben, bevor sie endgültig gelöscht werden, in Tagen.',
  'core.enable_notification_stream':
    'Benachrichtigungen als Ereignisstrom anbieten. Beim Abschalten werden offene Ströme geschlossen.',
};
