// adc opt --passes=inline-base-cases
// Leaves of a tree are read by the function that comes to them; the function is called for all others. Where a caller
// does not call itself, calls stay as they are.

func.func @tree(%x: memref<?xf64>, %i: index, %depth: index) -> f64 {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %leaf = arith.cmpi sle, %depth, %c16 : index
  %y = scf.if %leaf -> (f64) {
    %c7 = arith.constant 7 : index
    %at = arith.andi %i, %c7 : index
    %v = memref.load %x[%at] : memref<?xf64>
    scf.yield %v : f64
  } else {
    %less = arith.subi %depth, %c1 : index
    %left = arith.addi %i, %i : index
    %right = arith.addi %left, %c1 : index
    %a = func.call @tree(%x, %left, %less) : (memref<?xf64>, index, index) -> f64
    %b = func.call @tree(%x, %right, %less) : (memref<?xf64>, index, index) -> f64
    %s = arith.addf %a, %b : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}

// Nothing comes back, and what is in the case may write.
func.func @halves(%x: memref<?xf64>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %length = arith.subi %hi, %lo : index
  %long = arith.cmpi sgt, %length, %c1 : index
  scf.if %long {
    %half = arith.divsi %length, %c2 : index
    %middle = arith.addi %lo, %half : index
    func.call @halves(%x, %lo, %middle) : (memref<?xf64>, index, index) -> ()
    func.call @halves(%x, %middle, %hi) : (memref<?xf64>, index, index) -> ()
    scf.yield
  } else {
    %v = memref.load %x[%lo] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %x[%lo] : memref<?xf64>
    scf.yield
  }
  func.return
}

// What comes before the branch would be done twice, and it writes: calls stay.
func.func @marked(%x: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %v = memref.load %x[%i] : memref<?xf64>
  %small = arith.cmpf olt, %v, %one : f64
  scf.if %small {
    memref.store %one, %x[%i] : memref<?xf64>
    scf.yield
  } else {
    scf.yield
  }
  %last = arith.cmpi eq, %i, %c0 : index
  %y = scf.if %last -> (f64) {
    scf.yield %v : f64
  } else {
    %before = arith.subi %i, %c1 : index
    %w = func.call @marked(%x, %before) : (memref<?xf64>, index) -> f64
    scf.yield %w : f64
  }
  func.return %y : f64
}

func.func @f(%x: memref<?xf64>, %i: index) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  func.call @halves(%x, %c0, %c1) : (memref<?xf64>, index, index) -> ()
  %y = func.call @tree(%x, %c0, %c0) : (memref<?xf64>, index, index) -> f64
  func.return %y : f64
}

// becomes
func.func @tree(%x: memref<?xf64>, %i: index, %depth: index) -> f64 {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %leaf = arith.cmpi sle, %depth, %c16 : index
  %y = scf.if %leaf -> (f64) {
    %c7 = arith.constant 7 : index
    %at = arith.andi %i, %c7 : index
    %v = memref.load %x[%at] : memref<?xf64>
    scf.yield %v : f64
  } else {
    %less = arith.subi %depth, %c1 : index
    %left = arith.addi %i, %i : index
    %right = arith.addi %left, %c1 : index
    %c1_0 = arith.constant 1 : index
    %c16_0 = arith.constant 16 : index
    %leaf_0 = arith.cmpi sle, %less, %c16_0 : index
    %a = scf.if %leaf_0 -> (f64) {
      %c7_0 = arith.constant 7 : index
      %at_0 = arith.andi %left, %c7_0 : index
      %v_0 = memref.load %x[%at_0] : memref<?xf64>
      scf.yield %v_0 : f64
    } else {
      %0 = func.call @tree(%x, %left, %less) : (memref<?xf64>, index, index) -> f64
      scf.yield %0 : f64
    }
    %c1_1 = arith.constant 1 : index
    %c16_1 = arith.constant 16 : index
    %leaf_1 = arith.cmpi sle, %less, %c16_1 : index
    %b = scf.if %leaf_1 -> (f64) {
      %c7_1 = arith.constant 7 : index
      %at_1 = arith.andi %right, %c7_1 : index
      %v_1 = memref.load %x[%at_1] : memref<?xf64>
      scf.yield %v_1 : f64
    } else {
      %1 = func.call @tree(%x, %right, %less) : (memref<?xf64>, index, index) -> f64
      scf.yield %1 : f64
    }
    %s = arith.addf %a, %b : f64
    scf.yield %s : f64
  }
  func.return %y : f64
}

func.func @halves(%x: memref<?xf64>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %length = arith.subi %hi, %lo : index
  %long = arith.cmpi sgt, %length, %c1 : index
  scf.if %long {
    %half = arith.divsi %length, %c2 : index
    %middle = arith.addi %lo, %half : index
    %c1_0 = arith.constant 1 : index
    %c2_0 = arith.constant 2 : index
    %length_0 = arith.subi %middle, %lo : index
    %long_0 = arith.cmpi sgt, %length_0, %c1_0 : index
    scf.if %long_0 {
      func.call @halves(%x, %lo, %middle) : (memref<?xf64>, index, index) -> ()
      scf.yield
    } else {
      %v = memref.load %x[%lo] : memref<?xf64>
      %w = arith.mulf %v, %v : f64
      memref.store %w, %x[%lo] : memref<?xf64>
      scf.yield
    }
    %c1_1 = arith.constant 1 : index
    %c2_1 = arith.constant 2 : index
    %length_1 = arith.subi %hi, %middle : index
    %long_1 = arith.cmpi sgt, %length_1, %c1_1 : index
    scf.if %long_1 {
      func.call @halves(%x, %middle, %hi) : (memref<?xf64>, index, index) -> ()
      scf.yield
    } else {
      %v_0 = memref.load %x[%middle] : memref<?xf64>
      %w_0 = arith.mulf %v_0, %v_0 : f64
      memref.store %w_0, %x[%middle] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } else {
    %v_1 = memref.load %x[%lo] : memref<?xf64>
    %w_1 = arith.mulf %v_1, %v_1 : f64
    memref.store %w_1, %x[%lo] : memref<?xf64>
    scf.yield
  }
  func.return
}

func.func @marked(%x: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %v = memref.load %x[%i] : memref<?xf64>
  %small = arith.cmpf olt, %v, %one : f64
  scf.if %small {
    memref.store %one, %x[%i] : memref<?xf64>
    scf.yield
  }
  %last = arith.cmpi eq, %i, %c0 : index
  %y = scf.if %last -> (f64) {
    scf.yield %v : f64
  } else {
    %before = arith.subi %i, %c1 : index
    %w = func.call @marked(%x, %before) : (memref<?xf64>, index) -> f64
    scf.yield %w : f64
  }
  func.return %y : f64
}

func.func @f(%x: memref<?xf64>, %i: index) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  func.call @halves(%x, %c0, %c1) : (memref<?xf64>, index, index) -> ()
  %y = func.call @tree(%x, %c0, %c0) : (memref<?xf64>, index, index) -> f64
  func.return %y : f64
}
