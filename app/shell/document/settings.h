// What the app remembers between starts: theme, recent files, interpreter, window state. Stored by QSettings.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace vitrine::app {

enum class ThemeChoice { System, Light, Dark };

struct AppSettings {
  static void ignoreStored();               // shots and tests: nothing is read or kept
  static void keepIn(const QString& file);  // another file than the user's
  static ThemeChoice theme();
  static void setTheme(ThemeChoice choice);
  static double scale();  // 1 to 2
  static void setScale(double scale);
  static bool motion();
  static void setMotion(bool on);
  static bool singleKeys();  // single letters are commands in views
  static void setSingleKeys(bool on);
  // The keys the user gave a command, separated by spaces; null: its own.
  static QString keys(const QString& command);
  static void setKeys(const QString& command, const QString& keys);  // null: its own again
  static QStringList recent();  // newest first, at most ten, only files that are there
  static void addRecent(const QString& path);
  static QString
  python();  // VITRINE_PYTHON, else the chosen one, else .venv/bin/python beside the app, else python3
  static void setPython(const QString& path);
  static QStringList ownLayouts();  // names, as they were made
  static QByteArray ownLayout(const QString& name);
  static void setOwnLayout(const QString& name, const QByteArray& value);  // empty: forgets it
  static QByteArray state(const QString& key);
  static void setState(const QString& key, const QByteArray& value);
};

void applyThemeSetting();  // to the application

}  // namespace vitrine::app
