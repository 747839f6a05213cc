"""A hundred texts in five languages, and those that tend to go wrong."""

ENGLISH = """The train to Bergen leaves at seven from platform four.
She forgot her umbrella in the library again.
Could you move the meeting with the auditors to Thursday afternoon?
My sister's dog is allergic to chicken and to most kinds of rice.
We fixed the leak under the kitchen sink with a new washer.
He asked for a refund because the lamp arrived broken.
What was the name of the restaurant by the harbour?
The password is stored in the vault, not in the repository.
I would rather cycle to work than sit in traffic.
Our lease ends on 31 March 2027; the deposit is 2,400 euros.
Quarterly revenue grew by 12.5 % while costs fell.
The patient reports mild headaches since last Tuesday.
Please don't call me before nine, I work night shifts.
They painted the fence green, then changed their minds.
Photosynthesis turns light, water and carbon dioxide into sugar.
The cat sat on the warm bonnet of the neighbour's car.
Nobody told Priya that the workshop had been cancelled.""".split("\n")
GERMAN = """Der Zug nach Bergen fährt um sieben von Gleis vier.
Sie hat ihren Regenschirm schon wieder in der Bücherei vergessen.
Könnten wir das Treffen mit den Prüfern auf Donnerstag verschieben?
Der Hund meiner Schwester verträgt kein Hühnerfleisch.
Wir haben das Leck unter der Spüle mit einer neuen Dichtung behoben.
Er wollte sein Geld zurück, weil die Lampe zerbrochen ankam.
Wie hieß das Gasthaus am Hafen?
Das Kennwort liegt im Tresor, nicht im Quelltext.
Lieber fahre ich mit dem Rad, als im Stau zu stehen.
Der Mietvertrag endet am 31. März; die Kaution beträgt 2.400 Euro.
Straßenbahnhaltestellenschild
Übermorgen gibt es Klöße mit Soße.
Niemand sagte Jürgen, dass der Kurs ausfällt.
Die Katze schläft auf der warmen Motorhaube.
Bitte rufen Sie mich nicht vor neun Uhr an.
Der Umsatz stieg um 12,5 Prozent.""".split("\n")
FRENCH = """Le train pour Bergen part à sept heures du quai quatre.
Elle a encore oublié son parapluie à la bibliothèque.
Pourriez-vous déplacer la réunion à jeudi après-midi ?
Le chien de ma sœur est allergique au poulet.
Nous avons réparé la fuite sous l'évier.
Il a demandé un remboursement car la lampe était cassée.
Comment s'appelait le restaurant près du port ?
Le mot de passe est dans le coffre, pas dans le dépôt.
Je préfère aller au travail à vélo.
Le bail se termine le 31 mars ; la caution est de 2 400 euros.
Où est passé le garçon à la veste brodée ?
Personne n'a prévenu Zoë que l'atelier était annulé.
La crème brûlée n'était pas assez brûlée.
Le chat dort sur le capot tiède.
Ça ne marche plus depuis la mise à jour.
Noël approche, et la neige aussi.""".split("\n")
RUSSIAN = """Поезд в Берген отходит в семь часов с четвёртого пути.
Она опять забыла зонт в библиотеке.
Не могли бы вы перенести встречу на четверг?
У собаки моей сестры аллергия на курицу.
Мы починили течь под кухонной раковиной.
Он попросил вернуть деньги: лампа пришла разбитой.
Как назывался ресторан у гавани?
Пароль лежит в сейфе, а не в исходном коде.
Я лучше поеду на велосипеде, чем буду стоять в пробке.
Договор заканчивается 31 марта, залог 2400 евро.
Никто не сказал Юле, что занятие отменили.
Кошка спит на тёплом капоте.
Пожалуйста, не звоните мне раньше девяти.
Выручка выросла на 12,5 процента.
Ёжик пьёт молоко.""".split("\n")
JAPANESE = """ベルゲン行きの列車は七時に四番線から出ます。
彼女はまた図書館に傘を忘れた。
会議を木曜日の午後に変更できますか？
妹の犬は鶏肉のアレルギーがあります。
台所の水漏れを新しい部品で直しました。
ランプが壊れて届いたので返金を求めた。
港の近くのレストランの名前は何でしたか。
パスワードは金庫にあります。
渋滞より自転車で通勤する方がいい。
契約は三月三十一日に終わります。
猫が暖かい車の上で寝ている。
九時前には電話しないでください。
売上は１２．５％増えました。
ガギグゲゴ パピプペポ ﾊﾟﾋﾟﾌﾟ
誰も彼に講座の中止を伝えなかった。""".split("\n")
EDGES = ["", " ", "\n\t\r\n", "a", ".", "?!?!...", "\u0000a\u0001b\u007fc", "word\u200bword\ufeff",
         "👍", "👩‍👩‍👧‍👦 family at the 🏖️", "🇳🇴 🏳️‍🌈 e\u0301 = é", "¿Qué? «sí» – \u201cno\u201d …",
         "한국어 문장도 있습니다.", "อาหารไทยอร่อยมาก", "مرحبا بالعالم", "नमस्ते दुनिया",
         "x" * 99, "x" * 100, "x" * 101, "word " * 600, "東京" * 400, "1234567890" * 60,
         "src/core/rank.cpp:42: error: 'k1' was not declared", "SELECT * FROM t; -- drop",
         "\ufffd\ufffd broken", "İstanbul ΣΊΣΥΦΟΣ ẞ ﬁne Å", "A\u030a ①②③ ½ ㎏ ℃"]

TEXTS = ENGLISH + GERMAN + FRENCH + RUSSIAN + JAPANESE + EDGES
