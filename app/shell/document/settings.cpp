#include "app/shell/document/settings.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QSettings>
#include <cmath>

#include "views/kit/painting/theme.h"

namespace vitrine::app {

namespace {
constexpr int kMostRecent = 10;

QString& file() {
  static QString value;
  return value;
}

QSettings store() {
  if (!file().isEmpty()) return QSettings(file(), QSettings::IniFormat);
  return QSettings(QSettings::IniFormat, QSettings::UserScope, "vitrine", "app");
}
}  // namespace

void AppSettings::ignoreStored() {
  keepIn(QStringLiteral("/dev/null/vitrine.ini"));
}

void AppSettings::keepIn(const QString& path) {
  file() = path;
}

ThemeChoice AppSettings::theme() {
  const QString word = store().value("theme", "system").toString();
  return word == "dark" ? ThemeChoice::Dark : word == "light" ? ThemeChoice::Light : ThemeChoice::System;
}

void AppSettings::setTheme(ThemeChoice choice) {
  const char* const words[] = {"system", "light", "dark"};
  store().setValue("theme", words[static_cast<int>(choice)]);
}

double AppSettings::scale() {
  const double scale = store().value("scale", 1.0).toDouble();
  return std::isfinite(scale) ? qBound(1.0, scale, 2.0) : 1.0;
}

void AppSettings::setScale(double scale) {
  store().setValue("scale", scale);
}

bool AppSettings::motion() {
  return store().value("motion", true).toBool();
}

void AppSettings::setMotion(bool on) {
  store().setValue("motion", on);
}

bool AppSettings::singleKeys() {
  return store().value("single-keys", true).toBool();
}

void AppSettings::setSingleKeys(bool on) {
  store().setValue("single-keys", on);
}

QString AppSettings::keys(const QString& command) {
  const QVariant kept = store().value("keys/" + command);
  if (!kept.isValid()) return {};
  return kept.toString().isEmpty() ? QStringLiteral("") : kept.toString();
}

void AppSettings::setKeys(const QString& command, const QString& keys) {
  QSettings kept = store();
  if (keys.isNull())
    kept.remove("keys/" + command);
  else
    kept.setValue("keys/" + command, keys);
}

QStringList AppSettings::recent() {
  QStringList out;
  for (const QString& path : store().value("recent").toStringList())
    if (QFileInfo::exists(path)) out << path;
  return out;
}

void AppSettings::addRecent(const QString& path) {
  QStringList all = recent();
  const QString full = QFileInfo(path).absoluteFilePath();
  all.removeAll(full);
  all.prepend(full);
  store().setValue("recent", all.mid(0, kMostRecent));
}

QString AppSettings::python() {
  if (const QString named = qEnvironmentVariable("VITRINE_PYTHON"); !named.isEmpty()) return named;
  if (const QString chosen = store().value("python").toString(); QFileInfo(chosen).isExecutable())
    return chosen;
  QDir at(QCoreApplication::applicationDirPath());
  for (int up = 0; up < 4; ++up, at.cdUp())
    if (const QString venv = at.filePath(".venv/bin/python"); QFileInfo(venv).isExecutable()) return venv;
  return "python3";
}

void AppSettings::setPython(const QString& path) {
  store().setValue("python", path);
}

QStringList AppSettings::ownLayouts() {
  return store().value("layouts").toStringList();
}

QByteArray AppSettings::ownLayout(const QString& name) {
  return store().value("layout/" + name).toByteArray();
}

void AppSettings::setOwnLayout(const QString& name, const QByteArray& value) {
  QSettings settings = store();
  QStringList names = settings.value("layouts").toStringList();
  if (value.isEmpty()) {
    names.removeAll(name);
    settings.remove("layout/" + name);
  } else {
    if (!names.contains(name)) names << name;
    settings.setValue("layout/" + name, value);
  }
  settings.setValue("layouts", names);
}

QByteArray AppSettings::state(const QString& key) {
  return store().value("state/" + key).toByteArray();
}

void AppSettings::setState(const QString& key, const QByteArray& value) {
  store().setValue("state/" + key, value);
}

void applyThemeSetting() {
  const ThemeChoice choice = AppSettings::theme();
  const bool dark = choice == ThemeChoice::System ? kit::systemIsDark() : choice == ThemeChoice::Dark;
  kit::Theme theme = kit::Theme::make(dark, AppSettings::scale());
  theme.motion = AppSettings::motion();
  kit::applyTheme(*qApp, theme);
}

}  // namespace vitrine::app
