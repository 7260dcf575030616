// All keys, by the menu that their commands stand in; scrolls where the screen is low.
#pragma once

#include <QDialog>

#include "app/shell/commands/actions.h"

namespace vitrine::app {

class KeysDialog : public QDialog {
  Q_OBJECT
 public:
  KeysDialog(const Actions& actions, QWidget* parent);
};

}  // namespace vitrine::app
