// adc opt --passes=outline-nests{most=3}
// A buffer of fixed size that nobody else sees lives in the frame, so loops that use it stay; one that is handed on, as
// the value of a branch is, does not.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %many: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %kept = memref.alloc() : memref<2xf64>
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    memref.store %a, %kept[%i] : memref<2xf64>
    scf.yield
  }
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %kept[%i] : memref<2xf64>
    memref.store %a, %y[%i] : memref<?xf64>
    scf.yield
  }
  %given = memref.alloc() : memref<2xf64>
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    memref.store %a, %given[%i] : memref<2xf64>
    scf.yield
  }
  %part = memref.subview %given[%c0][%c2][%c1] {static_steps = [1]} : memref<2xf64> to memref<?xf64, strided<[1], offset: ?>>
  %rest = memref.subview %x[%c0][%c2][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %either = scf.if %many -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %part : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %rest : memref<?xf64, strided<[1], offset: ?>>
  }
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %either[%i] : memref<?xf64, strided<[1], offset: ?>>
    memref.store %a, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %many: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %kept = memref.alloc() : memref<2xf64>
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    memref.store %a, %kept[%i] : memref<2xf64>
    scf.yield
  }
  scf.for %i_0 = %c0 to %c2 step %c1 {
    %a_0 = memref.load %kept[%i_0] : memref<2xf64>
    memref.store %a_0, %y[%i_0] : memref<?xf64>
    scf.yield
  }
  %given = memref.alloc() : memref<2xf64>
  func.call @f.nest(%x, %given) : (memref<?xf64>, memref<2xf64>) -> ()
  %part = memref.subview %given[%c0][%c2][%c1] {static_steps = [1]} : memref<2xf64> to memref<?xf64, strided<[1], offset: ?>>
  %rest = memref.subview %x[%c0][%c2][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %either = scf.if %many -> (memref<?xf64, strided<[1], offset: ?>>) {
    scf.yield %part : memref<?xf64, strided<[1], offset: ?>>
  } else {
    scf.yield %rest : memref<?xf64, strided<[1], offset: ?>>
  }
  func.call @f.nest_1(%either, %y) : (memref<?xf64, strided<[1], offset: ?>>, memref<?xf64>) -> ()
  func.return
}

func.func @f.nest(%x: memref<?xf64>, %given: memref<2xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    memref.store %a, %given[%i] : memref<2xf64>
    scf.yield
  }
  func.return
}

func.func @f.nest_1(%either: memref<?xf64, strided<[1], offset: ?>>, %y: memref<?xf64>) attributes {adc.noinline = true, adc.unit = true} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %a = memref.load %either[%i] : memref<?xf64, strided<[1], offset: ?>>
    memref.store %a, %y[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
