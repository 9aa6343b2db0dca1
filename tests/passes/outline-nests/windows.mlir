// adc opt --passes=outline-nests{most=3}
// Fills and copies of windows are loops over rows when they are lowered: those that follow each other become a function,
// views included, and alike ones become one. What lies in one piece stays, and so does a view that something else uses.
// What is left of a loop that is too long itself is a function at last.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %first = memref.subview %x[%c0, %c0][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%first : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  %last = arith.subi %m, %c1 : index
  %rest = memref.subview %x[%c0, %last][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%rest : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i, %j] : memref<?x?xf64>
      scf.yield
    }
    scf.yield
  }
  %one = memref.subview %y[%c0, %c0][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%one : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  %other = memref.subview %y[%c0, %last][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%other : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = math.sin %a : f64
      memref.store %b, %x[%i, %j] : memref<?x?xf64>
      scf.yield
    }
    scf.yield
  }
  memref.copy %one, %first : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %sum = memref.load %other[%c0, %c0] : memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.return %sum : f64
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %last = arith.subi %m, %c1 : index
  func.call @f.nest(%x, %n, %last) : (memref<?x?xf64>, index, index) -> ()
  func.call @f.nest_2(%n, %m, %x) : (index, index, memref<?x?xf64>) -> ()
  %other = memref.subview %y[%c0, %last][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.call @f.nest(%y, %n, %last) : (memref<?x?xf64>, index, index) -> ()
  func.call @f.nest_2(%n, %m, %x) : (index, index, memref<?x?xf64>) -> ()
  func.call @f.nest_4(%y, %n, %x) : (memref<?x?xf64>, index, memref<?x?xf64>) -> ()
  %sum = memref.load %other[%c0, %c0] : memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.return %sum : f64
}

func.func @f.nest(%x: memref<?x?xf64>, %n: index, %last: index) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %first = memref.subview %x[%c0, %c0][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%first : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  %rest = memref.subview %x[%c0, %last][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  linalg.fill ins(%zero : f64) outs(%rest : memref<?x?xf64, strided<[?, 1], offset: ?>>)
  func.return
}

func.func @f.nest_1(%m: index, %x: memref<?x?xf64>, %i: index) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %m step %c1 {
    %a = memref.load %x[%i, %j] : memref<?x?xf64>
    %b = math.sin %a : f64
    memref.store %b, %x[%i, %j] : memref<?x?xf64>
    scf.yield
  }
  func.return
}

func.func @f.nest_4(%y: memref<?x?xf64>, %n: index, %x: memref<?x?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = memref.subview %y[%c0, %c0][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %first = memref.subview %x[%c0, %c0][%n, %c1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  memref.copy %one, %first : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.return
}

func.func @f.nest_2(%n: index, %m: index, %x: memref<?x?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @f.nest_1(%m, %x, %i) : (index, memref<?x?xf64>, index) -> ()
    scf.yield
  }
  func.return
}
